/*
 * Makes en-US and UTC the defaults of a realm in a process that has others. Only the memory sandbox needs this: the
 * others start a process and set its environment. What this exports replaces the global objects of that name.
 */
const LOCALE = "en-US";
const LocalDate = Date;
const { prototype } = LocalDate;

/** Replaces methods of an object. Each is made from the one that it replaces. */
function replace(object, names, make) {
  for (const name of names)
    Object.defineProperty(object, name, { value: make(object[name], name), writable: true, configurable: true });
}

const orDefault = (locales) =>
  locales === undefined || (Array.isArray(locales) && locales.length === 0) ? LOCALE : locales;

/** Options of a format of dates, with a zone. */
function inUtc(options) {
  if (options === undefined) return { timeZone: "UTC" };
  if (options === null || options.timeZone !== undefined) return options;
  return Object.create(options, { timeZone: { value: "UTC" } });
}

// ---- Date ------------------------------------------------------------------------------------------------------

const FIELDS = ["Date", "Day", "FullYear", "Hours", "Milliseconds", "Minutes", "Month", "Seconds"];
for (const field of FIELDS) {
  replace(prototype, [`get${field}`], () => prototype[`getUTC${field}`]);
  if (field !== "Day") replace(prototype, [`set${field}`], () => prototype[`setUTC${field}`]);
}
replace(
  prototype,
  ["getTimezoneOffset"],
  () =>
    function getTimezoneOffset() {
      return Number.isNaN(this.getTime()) ? Number.NaN : 0;
    },
);

/** Texts are composed of that of `toUTCString`: `Thu, 01 Jan 1970 00:00:00 GMT`. */
function textOf(date, compose) {
  const parts = /^(\w+), (\d+) (\w+) (-?\d+) (\S+) GMT$/.exec(date.toUTCString());
  return parts === null ? "Invalid Date" : compose(...parts.slice(1));
}
const ZONE = "GMT+0000 (Coordinated Universal Time)";
const dateText = (weekday, day, month, year) => `${weekday} ${month} ${day} ${year}`;
const timeText = (_weekday, _day, _month, _year, time) => `${time} ${ZONE}`;
replace(
  prototype,
  ["toString"],
  () =>
    function toString() {
      return textOf(this, (...parts) => `${dateText(...parts)} ${timeText(...parts)}`);
    },
);
replace(
  prototype,
  ["toDateString"],
  () =>
    function toDateString() {
      return textOf(this, dateText);
    },
);
replace(
  prototype,
  ["toTimeString"],
  () =>
    function toTimeString() {
      return textOf(this, timeText);
    },
);

/** Reads a text without a zone as UTC. V8 reads a date of ISO form without a time so by itself. */
function parse(value) {
  const text = String(value);
  if (/^[+-]?\d{4,6}(?:-\d\d){0,2}$/.test(text)) return LocalDate.parse(text);
  if (/^[+-]?\d{4,6}(?:-\d\d){0,2}T[\d:.]+$/.test(text)) return LocalDate.parse(`${text}Z`);
  const hasZone = /(?:\b|\d)Z\b|\b(?:UTC?|GMT|[ECMP][SD]T)\b|:\d\d(?:\.\d+)?\s*[+-]\d/i.test(text);
  return LocalDate.parse(hasZone ? text : `${text} UTC`);
}

function UtcDate(...values) {
  if (new.target === undefined) return new LocalDate().toString();
  if (values.length > 1) values = [LocalDate.UTC(...values)];
  else if (typeof values[0] === "string") values = [parse(values[0])];
  return Reflect.construct(LocalDate, values, new.target);
}
Object.defineProperty(UtcDate, "name", { value: "Date" });
Object.defineProperty(UtcDate, "length", { value: 7 });
Object.defineProperty(UtcDate, "prototype", { value: prototype, writable: false });
replace(UtcDate, ["UTC", "now"], (_method, name) => LocalDate[name]);
replace(UtcDate, ["parse"], () => parse);
replace(prototype, ["constructor"], () => UtcDate);

export { UtcDate as Date };

// ---- texts in a locale -----------------------------------------------------------------------------------------

const methodsOfDates = ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"];
replace(
  prototype,
  methodsOfDates,
  (method) =>
    function (locales, options) {
      return method.call(this, orDefault(locales), inUtc(options));
    },
);
for (const { prototype: object } of [Number, BigInt])
  replace(
    object,
    ["toLocaleString"],
    (method) =>
      function (locales, options) {
        return method.call(this, orDefault(locales), options);
      },
  );
replace(
  String.prototype,
  ["toLocaleLowerCase", "toLocaleUpperCase"],
  (method) =>
    function (locales) {
      return method.call(this, orDefault(locales));
    },
);
replace(
  String.prototype,
  ["localeCompare"],
  (method) =>
    function (other, locales, options) {
      return method.call(this, other, orDefault(locales), options);
    },
);

const FORMATS = [
  "Collator",
  "DateTimeFormat",
  "DisplayNames",
  "DurationFormat",
  "ListFormat",
  "NumberFormat",
  "PluralRules",
  "RelativeTimeFormat",
  "Segmenter",
];
for (const name of FORMATS.filter((name) => name in Intl)) {
  const Local = Intl[name];
  const Fixed = function (locales, options) {
    const given = [orDefault(locales), name === "DateTimeFormat" ? inUtc(options) : options];
    return new.target === undefined ? Local(...given) : Reflect.construct(Local, given, new.target);
  };
  Object.defineProperty(Fixed, "name", { value: name });
  Object.defineProperty(Fixed, "prototype", { value: Local.prototype, writable: false });
  replace(Fixed, ["supportedLocalesOf"], () => Local.supportedLocalesOf.bind(Local));
  replace(Local.prototype, ["constructor"], () => Fixed);
  replace(Intl, [name], () => Fixed);
}
