"""Drive the SDK's agent, or its conformance suite, against any Company.

  check.py walk         one journey: discovery to sign-out, with timings and a transcript
  check.py conformance  the SDK's Company suite, case by case
  check.py serve-agent  only serve the agent's client metadata and keys
  check.py vectors      write the SDK's language-neutral fixture files to a directory

Exit code: 0 all passed, 1 something failed, 2 wrong usage, 3 the Company could
not be reached.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import datetime as dt
import inspect
import json
import secrets
import shutil
import statistics
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import SecretStr

from personal_agent_protocol.accounts import AccountTokenClient, AccountTokenContext
from personal_agent_protocol.apis import ApiClient, ApiError, conversation_endpoint
from personal_agent_protocol.auth import DirectSignInClient
from personal_agent_protocol.browser import BrowserSessionClient
from personal_agent_protocol.conformance import (
    ConformanceContext,
    Proposal,
    Scenario,
    load_fixture_cases,
    run_conformance,
    select_cases,
)
from personal_agent_protocol.conversations import ConversationClient
from personal_agent_protocol.demo.kit import (
    AgentIdentity,
    ControlledBrowser,
    PersonalAgentHost,
)
from personal_agent_protocol.device import DeviceSignInClient
from personal_agent_protocol.discovery import DiscoveryClient
from personal_agent_protocol.errors import PersonalAgentProtocolError
from personal_agent_protocol.mediated import MediatedSignInClient
from personal_agent_protocol.models import ClientMetadata, Message
from personal_agent_protocol.operations import (
    OperationsClient,
    TermLimit,
    approve,
    operations_endpoint,
)
from personal_agent_protocol.reactor import build_pap_reactor
from personal_agent_protocol.requirements import protocol_path
from personal_agent_protocol.sessions import SessionClient
from personal_agent_protocol.transport import DpopHttpClient
from reactor import PluginManifest

import peerkit


# -- the agent's identity ---------------------------------------------------------------


def load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """The agent's ES256 key, made once and kept in `path`."""

    if not path.exists():
        peerkit.write_private(path, peerkit.pem(ec.generate_private_key(ec.SECP256R1())))
    return serialization.load_pem_private_key(path.read_bytes(), None)


def identities(options: argparse.Namespace) -> tuple[AgentIdentity, AgentIdentity]:
    """The agent that lists the operations extension, and one that lists none."""

    directory = Path(options.dir)
    first = AgentIdentity(
        domain=options.agent,
        name="Peer Kit Agent",
        private_key=load_key(directory / f"{options.agent}.agent-key.pem"),
    )
    second = AgentIdentity(
        domain=options.plain_agent,
        name="Peer Kit Plain Agent",
        extensions=(),
        private_key=load_key(directory / f"{options.plain_agent}.agent-key.pem"),
    )
    return first, second


@contextlib.asynccontextmanager
async def agents_served(options: argparse.Namespace, *agents: AgentIdentity):
    names = [agent.domain for agent in agents]
    certificate = peerkit.issue_leaf(Path(options.dir), names)
    sites = peerkit.by_host({agent.domain: agent.website() for agent in agents})
    async with peerkit.serving(sites, peerkit.listen(options.agent_listen), certificate) as at:
        yield at


# -- what the user, or the Company's operator, does ---------------------------------------


class Driver:
    """The SDK suite's driver, over a control port (see README.md for the requests)."""

    def __init__(self, control: str | None, clock: peerkit.SkewClock, other: Any) -> None:
        self.control = control.rstrip("/") if control else None
        self.clock = clock
        self.http = httpx.AsyncClient(timeout=10)
        self.other_identity = other
        self.capabilities: frozenset[str] = frozenset()
        self.accounts = ("", "")
        self.about: dict[str, Any] = {}

    async def start(self) -> None:
        if self.control is None:
            return
        self.about = await self.call("about")
        self.capabilities = frozenset(self.about.get("capabilities", ()))
        if "clock" in self.capabilities and "now" in self.about:
            # An earlier run may have moved the Company's clock: agree with it.
            there = dt.datetime.fromisoformat(self.about["now"])
            self.clock.offset = there - dt.datetime.now(dt.timezone.utc)
        named = [item["account"] for item in self.about.get("accounts", ())]
        if named:
            self.accounts = (named[0], named[1] if len(named) > 1 else named[0])

    async def call(self, name: str, **body: Any) -> dict[str, Any]:
        if self.control is None:
            raise PersonalAgentProtocolError("no_control", "no control port was given")
        response = await self.http.post(f"{self.control}/{name}", json=body)
        if response.status_code >= 400:
            raise PersonalAgentProtocolError(
                "control_refused", f"{name}: {response.status_code} {response.text[:200]}"
            )
        return response.json() if response.content else {}

    async def approve_device(
        self, user_code: str, *, account: str, scopes: Any = None
    ) -> None:
        await self.call(
            "approve-device",
            user_code=user_code,
            account=account,
            scopes=None if scopes is None else list(scopes),
        )

    async def approve_authorization(
        self, authorization_url: str, *, account: str, scopes: Any = None
    ) -> str:
        done = await self.call(
            "approve-authorization",
            authorization_url=authorization_url,
            account=account,
            scopes=None if scopes is None else list(scopes),
        )
        return str(done["callback_url"])

    async def wait(self, seconds: float) -> None:
        if "clock" in self.capabilities:
            await self.call("advance", seconds=seconds)
            self.clock.advance(seconds)
        else:
            await asyncio.sleep(seconds)

    async def revise(self, operation_id: str) -> None:
        await self.call("revise", operation_id=operation_id)

    async def forget_events(self, conversation_id: str) -> None:
        await self.call("forget-events", conversation_id=conversation_id)

    async def disconnect(self, client_id: str, account: str) -> None:
        await self.call("disconnect", client_id=client_id, account=account)

    async def performed(self, operation_id: str) -> int:
        return int((await self.call("performed", operation_id=operation_id))["performed"])


def scenario_of(given: dict[str, Any]) -> Scenario:
    def limits(values: list[dict[str, Any]]) -> tuple[TermLimit, ...]:
        return tuple(
            TermLimit(
                item["path"],
                maximum=Decimal(item["maximum"]) if "maximum" in item else None,
                allowed=frozenset(item["allowed"]) if "allowed" in item else None,
            )
            for item in values
        )

    return Scenario(
        read_path=given["read_path"],
        read_scope=given["read_scope"],
        scopes=tuple(given["scopes"]),
        proposals={
            name: Proposal(
                item["method"], item["path"], item.get("body"), item.get("documented_as")
            )
            for name, item in given.get("proposals", {}).items()
        },
        standing_action=given.get("standing_action"),
        standing_limits=limits(given.get("standing_limits", [])),
        standing_too_low=limits(given.get("standing_too_low", [])),
        operation_prompt=given.get("operation_prompt"),
        account_prompt=given.get("account_prompt"),
        greeting=given.get("greeting", "Hello."),
        mcp_read_tool=given.get("mcp_read_tool"),
        mcp_propose_tool=given.get("mcp_propose_tool"),
        web_confirm_form=given.get("web_confirm_form"),
    )


# -- commands -----------------------------------------------------------------------------


class World:
    """Everything a command needs: names, trust, clock, identities, driver, scenario."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        directory = Path(options.dir)
        self.ca = peerkit.ensure_ca(directory)
        self.names = peerkit.name_map(options.map)
        self.context = peerkit.trust(self.ca, *options.trust)
        self.clock = peerkit.SkewClock()
        self.agent, self.plain = identities(options)
        self.driver = Driver(options.control, self.clock, self.plain)
        self.transports: list[peerkit.MappedTransport] = []

    def http(self, seen: Any = None) -> httpx.AsyncClient:
        transport = peerkit.MappedTransport(self.names, self.context)
        transport.seen = seen
        self.transports.append(transport)
        return httpx.AsyncClient(transport=transport, timeout=30, trust_env=False)

    def scenario(self) -> dict[str, Any]:
        if self.options.scenario:
            return json.loads(Path(self.options.scenario).read_text())
        given = self.driver.about.get("scenario")
        if not given:
            raise SystemExit("give --scenario FILE, or --control of a Company that has one")
        return given

    async def close(self) -> None:
        for transport in self.transports:
            await transport.aclose()
        await self.driver.http.aclose()


async def conformance(options: argparse.Namespace) -> int:
    world = World(options)
    async with agents_served(options, world.agent, world.plain):
        await world.driver.start()
        context = ConformanceContext(
            options.company,
            identity=world.agent,
            http=world.http(),
            driver=world.driver,
            scenario=scenario_of(world.scenario()),
            clock=world.clock,
            address_resolver=peerkit.resolver(world.names),
            browser_http=world.http(),
        )
        try:
            await context.company()
        except PersonalAgentProtocolError as error:
            print(f"discovery failed: {error.code}: {error}", file=sys.stderr)
            return 3
        report = await run_conformance(
            context,
            cases=select_cases(
                ids=options.case, requirements=options.requirement, suites=options.suite
            ),
            timeout=options.timeout,
        )
    await world.close()
    if options.out:
        Path(options.out).write_text(json.dumps(report.to_json(), indent=1) + "\n")
    if options.junit:
        Path(options.junit).write_text(report.to_junit() + "\n")
    for result in report.results:
        if result.outcome != "passed" or options.verbose:
            print(f"{result.outcome:<8} {result.id}  {result.message or ''}".rstrip())
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**report.counts()))
    return 0 if report.passed else 1


class Walk:
    """One journey through a Company, step by step."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.steps: list[dict[str, Any]] = []
        self.transcript: list[dict[str, Any]] = []
        self.current = ""
        self.scenario: dict[str, Any] = {}

    def seen(self, exchange: dict[str, Any]) -> None:
        self.transcript.append({"step": self.current, **exchange})

    @contextlib.contextmanager
    def step(self, name: str):
        self.current, began = name, time.perf_counter()
        record: dict[str, Any] = {"step": name, "ok": True}
        try:
            yield record
        except PersonalAgentProtocolError as error:
            record |= {"ok": False, "error": error.code, "detail": str(error)}
            if error.status_code is not None:
                record["status"] = error.status_code
        except Exception as error:
            record |= {"ok": False, "error": type(error).__name__, "detail": str(error)}
        record["ms"] = round((time.perf_counter() - began) * 1000, 2)
        self.steps.append(record)

    async def run(self, sign_in: str) -> None:  # noqa: C901 - a list of steps
        world = self.world
        options = world.options
        http = world.http(self.seen)
        browser = ControlledBrowser(world.http(self.seen))
        opened: list[str] = []

        class Opener:
            async def open(self, authorization_url: SecretStr) -> None:
                opened.append(authorization_url.get_secret_value())

        self.scenario = world.scenario()
        host = PersonalAgentHost(
            world.agent,
            world.clock,  # type: ignore[arg-type]
            controlled_browser=browser,
            browser=Opener(),  # type: ignore[arg-type]
        )
        reactor, _ = build_pap_reactor(
            http_client=http,
            address_resolver=peerkit.resolver(world.names),
            plugins=[(PluginManifest(name="peer-kit-walk", version="1"), host)],
        )
        user = "usr_" + base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
        domain = httpx.URL(options.company).host
        company = None
        with self.step("discover"):
            company = await DiscoveryClient(reactor=reactor).discover(domain)
        if company is None or company.oauth_metadata is None:
            return
        metadata, document = company.oauth_metadata, company.document
        who = {"tenant_id": "peer-kit", "pairwise_user_id": user, "issuer": metadata.issuer}
        common = {
            "client_id": world.agent.client_id,
            "token_endpoint": metadata.token_endpoint,
            **who,
        }
        transport = DpopHttpClient(reactor=reactor, http_client=http)
        sessions = SessionClient(reactor=reactor, http_client=http)
        token = None
        with self.step("start_session") as record:
            token = await sessions.start(**common)
            record["session_id"] = token.session_id
            assert not token.signed_in, "a new Session starts signed out"
        if token is None:
            return
        with self.step("renew_session") as record:
            renewed = await sessions.renew(**common, session_id=token.session_id)
            assert renewed.session_id == token.session_id, "the same Session"
            token = renewed
        api = ApiClient(transport=transport)
        read_url = f"{options.company.rstrip('/')}{self.scenario['read_path']}"
        with self.step("api_signed_out"):
            try:
                await api.call("GET", read_url, token=token, **who)
            except ApiError as error:
                assert error.code in ("sign_in_required", "insufficient_scope"), error.code
        conversations = ConversationClient(transport=transport)
        talk = conversation_endpoint(document)
        conversation = None
        if talk:
            with self.step("conversation_start") as record:
                page = await conversations.start(
                    talk, message(self.scenario.get("greeting", "Hello.")), token=token, wait=5, **who
                )
                conversation = page.conversation_id
                record["status"] = page.status
            with self.step("conversation_events") as record:
                page = await conversations.read_events(talk, conversation, token=token, wait=1, **who)
                record["events"] = [event.type for event in page.events]
        reference = None
        if sign_in != "none":
            with self.step(f"sign_in_{sign_in}") as record:
                token, reference = await self.sign_in(
                    sign_in, reactor, http, host, company, token, who, common, opened
                )
                record["scope"] = token.scope
                assert token.signed_in, "the Session is signed in"
        if reference is not None:
            with self.step("api_signed_in") as record:
                answer = await api.call("GET", read_url, token=token, **who)
                record["status"] = answer.status
            await self.operations(api, transport, document, token, who)
            if document.web is not None and document.web.browser_session_endpoint:
                with self.step("browser_join") as record:
                    await BrowserSessionClient(reactor=reactor).join(
                        client_id=world.agent.client_id,
                        pairwise_user_id=user,
                        browser_session_endpoint=document.web.browser_session_endpoint,
                        session_id=token.session_id,
                        return_to=f"{options.company.rstrip('/')}{self.scenario.get('web_page', '/')}",
                        company_domain=document.organization.domain,
                    )
                    landed = browser.page
                    assert landed is not None and landed.history, "the join redirects"
                    record |= {
                        "status": landed.history[0].status_code,
                        "page_status": landed.status_code,
                        "page_has_session": token.session_id in landed.text,
                    }
                    assert landed.history[0].status_code == 303, landed.history[0].status_code
            accounts = AccountTokenClient(reactor=reactor, http_client=http)
            context = AccountTokenContext(
                client_id=world.agent.client_id,
                token_endpoint=metadata.token_endpoint,
                revocation_endpoint=metadata.revocation_endpoint,
                **who,
            )
            with self.step("account_token_renew") as record:
                again = await accounts.refresh(
                    reference, context=context, session_id=token.session_id
                )
                record |= {"status": again.status, "rotated": again.rotated}
                assert again.status == "signed_in", again.status
                token = again.token or token
            with self.step("account_token_second_session") as record:
                other = await sessions.start(**common)
                again = await accounts.refresh(
                    reference, context=context, session_id=other.session_id
                )
                record["status"] = again.status
                assert again.status == "signed_in", again.status
            with self.step("sign_out") as record:
                gone = await accounts.revoke(reference, context=context)
                assert gone.revoked, "the Account Token is revoked"
            with self.step("api_after_sign_out") as record:
                try:
                    await api.call("GET", read_url, token=token, **who)
                    raise AssertionError("the Session is still signed in")
                except ApiError as error:
                    record["error"] = error.code
        if conversation is not None and reference is None:
            with self.step("conversation_close"):
                await conversations.close(talk, conversation, token=token, **who)
        await browser.http.aclose()
        await http.aclose()

    async def operations(
        self, api: Any, transport: Any, document: Any, token: Any, who: dict[str, Any]
    ) -> None:
        metadata = ClientMetadata.model_validate(self.world.agent.metadata)
        endpoint = operations_endpoint(document, metadata)
        proposal = self.scenario.get("proposals", {}).get("user")
        if endpoint is None or proposal is None:
            return
        client = OperationsClient(transport=transport)
        base = self.world.options.company.rstrip("/")

        async def propose() -> Any:
            answer = await api.call(
                proposal["method"],
                base + proposal["path"],
                token=token,
                body=proposal.get("body") or {},
                **who,
            )
            assert answer.operation is not None, f"status {answer.status}, no operation"
            return answer.operation

        operation = None
        with self.step("operation_propose") as record:
            operation = await propose()
            record |= {"operation_id": operation.operation_id, "state": operation.state}
        if operation is None:
            return
        with self.step("operation_read") as record:
            read = await client.read(endpoint, operation.operation_id, token=token, **who)
            record["state"] = read.state
        done = None
        with self.step("operation_confirm") as record:
            done = await client.confirm(
                endpoint, operation, approval=approve(operation), token=token, **who
            )
            record |= {"status": done.status, "state": done.operation and done.operation.state}
            assert done.status == "confirmed", done.status
        if done is not None:
            with self.step("operation_confirm_again"):
                again = await client.confirm(
                    endpoint, operation, approval=approve(operation), token=token, **who
                )
                assert again.operation == done.operation, "a second confirm changes nothing"
        with self.step("operation_cancel") as record:
            second = await propose()
            assert second.operation_id != operation.operation_id, "a new operation"
            cancelled = await client.cancel(endpoint, second.operation_id, token=token, **who)
            record["state"] = cancelled.state
            assert cancelled.state == "cancelled", cancelled.state

    async def sign_in(
        self, kind: str, reactor: Any, http: Any, host: Any, company: Any, token: Any,
        who: dict[str, Any], common: dict[str, Any], opened: list[str],
    ) -> tuple[Any, str]:  # fmt: skip
        world, scopes = self.world, tuple(self.scenario["scopes"])
        metadata, document = company.oauth_metadata, company.document
        account = self.scenario.get("account", world.driver.accounts[0])
        session = {"session_id": token.session_id, "scopes": scopes, **common}
        if kind == "device":
            client = DeviceSignInClient(reactor=reactor, http_client=http)
            given = dict(
                session,
                device_authorization_endpoint=metadata.device_authorization_endpoint,
                organization=document.organization,
                poppy_domains=metadata.poppy_domains,
            )
            known = inspect.signature(DeviceSignInClient.begin).parameters
            started = await client.begin(**{k: v for k, v in given.items() if k in known})
            await world.driver.approve_device(started.user_code, account=account)
            for _ in range(20):
                await world.driver.wait(started.poll_interval)
                polled = await client.poll(started.reference)
                if polled.status == "complete":
                    return polled.token, polled.account_token_reference
            raise PersonalAgentProtocolError("still_pending", "the sign-in did not complete")
        if kind == "direct":
            client = DirectSignInClient(reactor=reactor, http_client=http)
            await client.begin(
                **session,
                authorization_endpoint=metadata.authorization_endpoint,
                redirect_uri=world.agent.metadata["redirect_uris"][0],
            )
            callback = await world.driver.approve_authorization(opened[-1], account=account)
            done = await client.complete(callback)
            return done.token, done.account_token_reference
        client = MediatedSignInClient(reactor=reactor, http_client=http)
        host.protected_input.answers[:] = [self.scenario["credentials"]]
        result = await client.sign_in(
            mediated=document.auth.mediated,
            organization=document.organization,
            scopes=scopes,
            token=token,
            **who,
        )
        if result.status == "code_required":
            host.protected_input.answers[:] = [{"code": self.scenario["code"]}]
            result = await client.submit_code(result.reference, token=token, **who)
        if result.status != "complete":
            raise PersonalAgentProtocolError(f"sign_in_{result.status}", "sign-in did not complete")
        return result.token, result.account_token_reference


def message(text: str) -> Message:
    return Message(
        id="msg_" + base64.urlsafe_b64encode(secrets.token_bytes(12)).decode(),
        sender="agent",
        text=text,
    )


async def walk(options: argparse.Namespace) -> int:
    world = World(options)
    rounds: list[Walk] = []
    async with agents_served(options, world.agent, world.plain):
        await world.driver.start()
        for _ in range(options.repeat):
            journey = Walk(world)
            await journey.run(options.sign_in)
            rounds.append(journey)
    await world.close()
    last = rounds[-1]
    ok = all(step["ok"] for journey in rounds for step in journey.steps)
    median: dict[str, float] = {}
    for step in last.steps:
        values = [s["ms"] for j in rounds for s in j.steps if s["step"] == step["step"]]
        median[step["step"]] = round(statistics.median(values), 2)
    report = {
        "ok": ok,
        "sdk": peerkit.SDK_VERSION,
        "draft": peerkit.DRAFT,
        "company": options.company,
        "client_id": world.agent.client_id,
        "sign_in": options.sign_in,
        "rounds": len(rounds),
        "steps": last.steps,
        "median_ms": median,
    }
    if options.transcript:
        with open(options.transcript, "w") as out:
            for entry in last.transcript:
                out.write(json.dumps(entry) + "\n")
    if options.out:
        Path(options.out).write_text(json.dumps(report, indent=1) + "\n")
    for step in last.steps:
        word = "ok  " if step["ok"] else "FAIL"
        more = {k: v for k, v in step.items() if k not in ("step", "ok", "ms")}
        print(f"{word} {step['step']:<30} {median[step['step']]:>8.1f} ms  {json.dumps(more)}")
    if not ok and last.steps and last.steps[0]["step"] == "discover" and not last.steps[0]["ok"]:
        return 3
    return 0 if ok else 1


async def serve_agent(options: argparse.Namespace) -> int:
    agent, plain = identities(options)
    async with agents_served(options, agent, plain) as (host, port):
        print(
            json.dumps(
                {
                    "ready": True,
                    "client_id": agent.client_id,
                    "plain_client_id": plain.client_id,
                    "address": f"{host}:{port}",
                    "ca": str((Path(options.dir) / "ca.pem").resolve()),
                    "key": str((Path(options.dir) / f"{agent.domain}.agent-key.pem").resolve()),
                    "kid": agent.kid,
                }
            ),
            flush=True,
        )
        await asyncio.Event().wait()
    return 0


async def vectors(options: argparse.Namespace) -> int:
    """Copy the fixture files of the installed SDK, with an index of the decidable cases."""

    target = Path(options.out)
    source = Path(str(protocol_path("fixtures", "conformance", "protocol.json"))).parents[1]
    shutil.copytree(source, target, dirs_exist_ok=True)
    licence = next(Path(str(protocol_path("x"))).parents[2].glob("personal_agent_protocol-*.dist-info"))
    shutil.copy(next(licence.rglob("LICENSE")), target / "LICENSE")
    cases = [case for case in load_fixture_cases() if case.check is not None]
    index = [
        {
            "id": c.id, "check": c.check, "kind": c.kind, "role": c.role,
            "requirements": list(c.requirements), "input": c.input, "expect": c.expect,
        }
        for c in cases
    ]  # fmt: skip
    (target / "local-cases.json").write_text(json.dumps(index, indent=1) + "\n")
    print(json.dumps({"draft": peerkit.DRAFT, "local_cases": len(index), "directory": str(target)}))
    return 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, run: Any) -> argparse.ArgumentParser:
        added = commands.add_parser(name)
        added.set_defaults(run=run)
        return added

    def agent_options(added: argparse.ArgumentParser) -> None:
        added.add_argument("--dir", required=True, help="where the CA and keys are kept")
        added.add_argument("--agent", default="agent.example")
        added.add_argument("--plain-agent", default="plain.example")
        added.add_argument("--agent-listen", default="127.0.0.1:0", metavar="ADDR:PORT")

    def company_options(added: argparse.ArgumentParser) -> None:
        agent_options(added)
        added.add_argument("--company", required=True, metavar="URL")
        added.add_argument("--map", action="append", default=[], metavar="NAME=ADDR:PORT")
        added.add_argument("--trust", action="append", default=[], metavar="CA_FILE")
        added.add_argument("--control", metavar="URL", help="the Company's control port")
        added.add_argument("--scenario", metavar="FILE")
        added.add_argument("--out", metavar="FILE", help="write the JSON report here")

    added = command("walk", walk)
    company_options(added)
    added.add_argument(
        "--sign-in", choices=("device", "direct", "mediated", "none"), default="device"
    )
    added.add_argument("--repeat", type=int, default=1)
    added.add_argument("--transcript", metavar="FILE", help="one JSON exchange a line")
    added = command("conformance", conformance)
    company_options(added)
    added.add_argument("--case", action="append", default=[])
    added.add_argument("--requirement", action="append", default=[])
    added.add_argument("--suite", action="append", default=[])
    added.add_argument("--timeout", type=float, default=30.0, help="seconds a case may take")
    added.add_argument("--junit", metavar="FILE")
    added.add_argument("--verbose", action="store_true")
    agent_options(command("serve-agent", serve_agent))
    added = command("vectors", vectors)
    added.add_argument("--out", required=True, metavar="DIR")
    return parser


if __name__ == "__main__":
    chosen = arguments().parse_args()
    try:
        code = asyncio.run(chosen.run(chosen))
    except KeyboardInterrupt:
        code = 130
    except (PersonalAgentProtocolError, httpx.HTTPError) as error:
        print(f"check.py: {error}", file=sys.stderr)
        code = 3
    sys.exit(code)
