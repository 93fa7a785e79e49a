"""buy.py FILE: makes the calls of FILE with the official Python SDK, and prints what was as it should be."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def check(name: str, ok: bool, why: str) -> None:
    print(json.dumps({"check": name, "ok": ok, "why": why}), flush=True)


async def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    server = StdioServerParameters(command=plan["command"], args=plan["args"], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed = len((await session.list_tools()).tools)
        check("it lists the tools", listed == plan["tools"], f"{listed} tools, not {plan['tools']}")
        for call in plan["calls"]:
            result = await session.call_tool(call["tool"], call["arguments"])
            data = member(result, "structuredContent", "structured_content") or {}
            failed = member(result, "isError", "is_error")
            got = data.get("status", "")
            ok = not failed and (not call["status"] or got == call["status"])
            check(f"{call['tool']} comes to {call['status'] or 'a result'}", ok, f"{got}: {result.content[:1]}")
        try:
            result = await session.call_tool("poppy_round", {"approved": True})
            refused = bool(member(result, "isError", "is_error"))
        except Exception:
            refused = True
        check("an invented argument is refused", refused, "it was taken")


def member(result: object, *names: str) -> object:
    """The member of a result under whichever of its names this version has."""
    for name in names:
        if hasattr(result, name):
            return getattr(result, name)
    return None


asyncio.run(main())
