#!/usr/bin/env python3
"""A model's loop in Python against `portcullis serve`, with the standard library alone.

The model runs here, the programs that it writes run on the server. The loop asks GET /v1/tools what to tell the model,
runs each program by POST /v1/executions, follows its events, decides the calls that wait, and gives the model what the
report says. README.md shows how to start it.
"""

import argparse
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_TURNS = 20
TRIES = 5
# The server sends a line of a stream at least every 15 seconds.
SILENCE_SECONDS = 60
BROKEN_OFF = (OSError, http.client.HTTPException)


class Refused(Exception):
    """The server has refused a request: `code` is for code to act on, the text for people."""

    def __init__(self, status, code, message):
        super().__init__(message)
        self.status = status
        self.code = code


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """urllib would send the key on to wherever a redirect leads."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirect)


def tell(what, **fields):
    """One line on standard error. JSON escapes whatever a program, a tool or a model has put into a text."""
    print(what, json.dumps(fields), file=sys.stderr, flush=True)


def printable(text):
    """The text without what would steer a terminal."""
    return "".join(one if one in "\n\t" or one.isprintable() else json.dumps(one)[1:-1] for one in text)


class Server:
    """The paths of docs/http.md that a loop needs."""

    def __init__(self, url, key):
        self.url = url.rstrip("/")
        self.key = key

    def open(self, method, path, body=None, headers=None):
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {self.key}", "content-type": "application/json", **(headers or {})},
        )
        return OPENER.open(request, timeout=SILENCE_SECONDS)

    def ask(self, method, path, body=None):
        """The answer as JSON. What is worth trying again is tried again: every request here may be made twice."""
        for left in reversed(range(TRIES)):
            try:
                with self.open(method, path, body) as response:
                    return json.loads(response.read(MAX_ANSWER_BYTES))
            except urllib.error.HTTPError as error:
                refused, wait = refusal(error)
                if wait is None or left == 0:
                    raise refused from None
            except BROKEN_OFF:
                wait = 1
                if left == 0:
                    raise
            time.sleep(wait)

    def tools(self):
        """All that the key may call, page after page, with `run_program` and, if there is one, `search_tools`."""
        answer = page = self.ask("GET", "/v1/tools")
        while "cursor" in page:
            page = self.ask("GET", "/v1/tools?" + urllib.parse.urlencode({"cursor": page["cursor"]}))
            answer["tools"] += page["tools"]
        return answer

    def search(self, query, limit=5):
        return self.ask("GET", "/v1/tools/search?" + urllib.parse.urlencode({"q": query, "limit": limit}))["tools"]

    def events(self, execution):
        """The events of an execution to its end. A connection that breaks off is opened again where it was."""
        last, failures = None, 0
        while failures < TRIES:
            try:
                headers = {} if last is None else {"last-event-id": last}
                with self.open("GET", f"/v1/executions/{quoted(execution)}/events", headers=headers) as stream:
                    if stream.status == 204:
                        return
                    for event_id, data in parse_events(stream):
                        if event_id is None:
                            raise ConnectionError(data["error"]["message"])
                        last, failures = event_id, 0
                        yield data
                        if data["type"] == "execution_ended":
                            return
            except urllib.error.HTTPError as error:
                refused, wait = refusal(error)
                if wait is None:
                    raise refused from None
            except BROKEN_OFF:
                pass
            failures += 1
            time.sleep(1)
        raise ConnectionError(f"The events of {execution} break off.")

    def run(self, program, decide, execution=None):
        """Runs a program to its end, and gives its report. `decide` is asked about each call that waits for a decision.

        The id is chosen here, so that the request can be made again without a second run.
        """
        execution = execution or f"loop-{uuid.uuid4()}"
        begun = self.ask("POST", "/v1/executions", {"program": program, "id": execution, "wait": False})
        # A program that cannot be started has no events: it is answered with its report.
        if "outcome" in begun:
            return begun
        for event in self.events(execution):
            kind = event["type"]
            if kind == "output":
                tell("  printed", text=event["text"])
            elif kind == "call_ended":
                tell("  call", tool=event["tool"], outcome=event["outcome"]["type"], ms=round(event["ms"]))
            elif kind == "execution_waiting":
                self.decide_waiting(execution, decide)
        return self.ask("GET", f"/v1/executions/{quoted(execution)}")

    def decide_waiting(self, execution, decide):
        # The event tells which calls wait, and the report what they would be given.
        outcome = self.ask("GET", f"/v1/executions/{quoted(execution)}").get("outcome", {})
        if outcome.get("type") != "waiting":
            return
        if outcome["calls"] and not outcome["approvals"]:
            tell("  cancelled: a call waits for a client's result, which this client does not have")
            self.ask("POST", f"/v1/executions/{quoted(execution)}/cancel", {})
            return
        decisions = {call["callId"]: {"allow": decide(call)} for call in outcome["approvals"]}
        try:
            self.ask("POST", f"/v1/executions/{quoted(execution)}/decisions", {"decisions": decisions})
        except Refused as refused:
            # Another person was faster, or this request was made twice.
            if refused.code not in ("decision_exists", "call_unknown"):
                raise


def quoted(part):
    return urllib.parse.quote(part, safe="")


def refusal(error):
    """The refusal, and the seconds after which the request is worth making again."""
    try:
        problem = json.loads(error.read(64 * 1024))["error"]
        refused = Refused(error.code, problem["code"], problem["message"])
    except (ValueError, KeyError, TypeError):
        refused = Refused(error.code, "unknown", f"The server answered {error.code}.")
    after = error.headers.get("retry-after")
    return refused, min(int(after), 60) if after and after.isascii() and after.isdigit() else None


def parse_events(stream):
    """Server-sent events: the id and the data of each."""
    event_id, data = None, []
    for line in stream:
        name, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "id":
            event_id = value
        elif name == "data":
            data.append(value)
        elif name == "" and value == "" and data:
            yield event_id, json.loads("\n".join(data))
            event_id, data = None, []


class ChatModel:
    """A model behind an endpoint of the form of OpenAI's Chat Completions."""

    def __init__(self, url, key, name):
        self.url = url.rstrip("/") + "/chat/completions"
        self.key = key
        self.name = name

    def turn(self, messages, tools):
        body = {"model": self.name, "messages": messages, "tools": [{"type": "function", "function": t} for t in tools]}
        request = urllib.request.Request(
            self.url,
            data=json.dumps(body).encode(),
            headers={"content-type": "application/json", "authorization": f"Bearer {self.key}"},
        )
        try:
            with OPENER.open(request, timeout=600) as response:
                return json.loads(response.read(MAX_ANSWER_BYTES))["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            said = json.dumps(error.read(2000).decode(errors="replace"))
            raise SystemExit(f"The model at {self.url} answered {error.code}: {said}") from None
        except BROKEN_OFF as error:
            raise SystemExit(f"The model at {self.url} gives no answer: {error}") from None
        except (ValueError, KeyError, IndexError, TypeError):
            raise SystemExit(f"The model at {self.url} answered in another form than Chat Completions.") from None


class ScriptedModel:
    """Plays turns from a file: a list of { "code" } for a program, { "search" } for a search, and { "text" }.

    `{result}` in a text is the latest result. For trying the loop without a provider.
    """

    def __init__(self, turns):
        self.turns = iter(turns)
        self.calls = 0

    def turn(self, messages, tools):
        turn = next(self.turns, None)
        if turn is None:
            raise SystemExit("The script has no further turn, and the loop needs one: end it with a turn that has a text.")
        if "text" in turn:
            return {"role": "assistant", "content": turn["text"].replace("{result}", messages[-1]["content"])}
        name, given = ("run_program", {"code": turn["code"]}) if "code" in turn else ("search_tools", turn["search"])
        if name not in [tool["name"] for tool in tools]:
            raise SystemExit(f"The script calls {name}, which the server did not offer.")
        self.calls += 1
        call = {"id": f"call_{self.calls}", "type": "function"}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**call, "function": {"name": name, "arguments": json.dumps(given)}}],
        }


def answer_call(server, name, arguments, decide):
    """What the model reads of one of its calls. A call that is wrong is answered, so that the model can mend it."""
    try:
        given = json.loads(arguments)
        if name == "run_program":
            return server.run(given["code"], decide)["output"]["text"]
        if name == "search_tools":
            return json.dumps(server.search(given["query"], given.get("limit", 5)))
        return f"There is no tool {json.dumps(name)}."
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"The arguments of {json.dumps(name)} do not fit its schema."
    except Refused as refused:
        return f"The server refused it ({refused.code}): {refused}"


def loop(server, model, task, decide):
    """Lets the model work on the task, and gives its answer."""
    known = server.tools()
    offered = [known[name] for name in ("run_program", "search_tools") if name in known]
    tools = [{"name": t["name"], "description": t["description"], "parameters": t["inputSchema"]} for t in offered]
    tell("tools", names=[tool["name"] for tool in known["tools"]], scopes=known["scopes"])
    messages = [{"role": "user", "content": task}]
    for _ in range(MAX_TURNS):
        message = model.turn(messages, tools)
        messages.append(message)
        if not message.get("tool_calls"):
            return message.get("content") or ""
        for call in message["tool_calls"]:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            tell("model", calls=name, arguments=arguments)
            text = answer_call(server, name, arguments, decide)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    raise SystemExit(f"The model has not answered within {MAX_TURNS} turns.")


def ask_person(call):
    print(f"Allow {json.dumps(call['tool'])} with {json.dumps(call['input'])}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


DECIDE = {"ask": ask_person, "all": lambda call: True, "none": lambda call: False}


def main():
    parser = argparse.ArgumentParser(description="Gives a model a task, whose programs run on a Portcullis server.")
    parser.add_argument("task")
    parser.add_argument("--url", default=os.environ.get("PORTCULLIS_URL", "http://127.0.0.1:7332"))
    parser.add_argument("--script", help="a file of turns in place of a model")
    parser.add_argument("--approve", choices=sorted(DECIDE), default="ask", help="how waiting calls are decided")
    options = parser.parse_args()
    # Keys are no arguments: every user of the machine can read those.
    key = os.environ.get("PORTCULLIS_KEY")
    if not key:
        raise SystemExit("Set PORTCULLIS_KEY to the server's token, or to a key with the scopes run, read and decide.")
    if options.script:
        try:
            with open(options.script, encoding="utf-8") as file:
                model = ScriptedModel(json.load(file))
        except (OSError, ValueError) as error:
            raise SystemExit(f"--script {options.script} cannot be read: {error}") from None
    else:
        url = os.environ.get("MODEL_URL", "https://api.openai.com/v1")
        name = os.environ.get("MODEL_NAME")
        if not name:
            raise SystemExit("Set MODEL_NAME, MODEL_KEY and, for another provider, MODEL_URL; or give --script FILE.")
        model = ChatModel(url, os.environ.get("MODEL_KEY", ""), name)
    try:
        print(printable(loop(Server(options.url, key), model, options.task, DECIDE[options.approve])))
    except Refused as refused:
        raise SystemExit(printable(f"The server refused it ({refused.code}): {refused}")) from None
    except urllib.error.URLError as error:
        raise SystemExit(f"{options.url} gives no answer: {error.reason}. Is `portcullis serve` running there?") from None
    except BROKEN_OFF as error:
        raise SystemExit(f"The connection to {options.url} broke off: {error}") from None
    except ValueError as error:
        raise SystemExit(f"{options.url} is no address of a server, or answers no JSON: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
