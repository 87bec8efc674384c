// Tries: to show a reader one program and to run another, by Markdown round it.
// Ends: completed "shown"
return "shown";
/*
```js
return "hidden";
```
*/
