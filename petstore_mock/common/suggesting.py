"""The nearest right name for a name that does not exist, in the error of whatever refuses the name.

Names come from the objects themselves: attributes, arguments, rows of tables. ``_PEERS`` adds the words that other mock
servers and HTTP libraries use for the same things.
"""

from __future__ import annotations

import difflib
import re
from functools import cache, wraps
from inspect import Parameter, signature
from itertools import product, starmap
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=type[Any])

# Characters; longer names take too long to compare.
_LONGEST_SLIP: Final = 100
# How alike two names must be: first all of both names, then as the last resort.
_ALIKE: Final = 0.81
_SIMILAR: Final = 0.7
# Letters; shorter words say too little.
_SHORTEST_WORD: Final = 3
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# Our name, then the words of responses, respx, requests-mock, pytest-httpserver, WireMock, msw, nock, moto,
# unittest.mock and HTTP libraries. If several lines have a word, the first one whose name exists at a place counts.
_PEERS: Final = """
url: base base_url address endpoint root server uri host_url server_url origin endpoint_url public_url host port netloc
api_key: key token apikey access_token bearer bearer_token credentials secret auth authorization
token: api_key key password control_token
headers: auth_headers authorization auth header default_headers set_header
journal: requests calls history request_history received recorded log interactions request_log traffic requests_made
journal: received_requests serve_events call_list captured exchanges spy requests.html events
journal: call_count request_count requests_count
journal.violations: errors failures assert_no_violations
journal.wait_for: wait wait_for_request wait_for_requests wait_until wait_for_calls
clear: reset
kept: first one get
to_har: dump print save write
journal.last: last_request last_call request_last latest newest call_args
journal.assert_called: assert_called_with assert_called_once assert_call_count assert_all_called verify_requests called
journal.assert_called: assert_called_once_with assert_all_requests_are_fired assert_any_call was_called
assert_called: assert_called_with assert_called_once assert_call_count called assert_has_calls assert_request_made
assert_called: assert_called_once_with assert_any_call was_called assert_requested verify
assert_not_called: never_called not_called assert_no_requests
last: last_request last_call latest newest call_args request
for_operation: by_operation filter find get_requests requests_for calls_to operation
wait_for: wait until wait_for_request wait_until wait_requests
total: count call_count called_count number
violations: errors unmatched unmatched_requests problems failures invalid
kept: calls requests history all entries items list call_args_list
verify: check assert_all done is_done pending_mocks check_assertions assert_all_called validate
pets: animals store database db items list_pets all_pets list get_pet find state
seed: add_pet create_pet add create insert new_pet add_animal create_animal populate data pets initial_data fixtures
seed: animals database db load store given
seed_many: add_pets create_pets add_many bulk seed_all insert_many create_batch seed_count
pets.json: mappings
update: change update_pet modify patch edit set_pet change_pet put
remove: delete remove_pet delete_pet drop del_pet
inject: fault faults fail break mock when on add_fault stub respond returns return_value side_effect reply intercept
inject: latency slow slow_down flaky chaos delay given_that expect_request persist scenario add_passthru
inject: reply_with_error
inject: unauthorized not_found rate_limit forbidden server_error outage register register_response fail_with
inject: add_response register_uri get post route expect stub_for add_callback error raises simulate timeout
cancel_faults: clear_faults reset_faults remove_faults reset_handlers clean_all
configure: set_behaviour set_behavior gaps set_gaps config behaviour_set use options settings setup
behaviour: behavior gaps mode preset config configuration policy policies profile
clock.freeze: freeze_time
clock: time now freeze_time date today travel clock_time
clock.travel_to: travel time_travel set_time move_to
clock.advance: tick sleep forward shift move fast_forward
travel_to: travel move_to set goto jump set_time
advance: tick sleep forward shift add move fast_forward step
unfreeze: resume start unpause continue
moment: time datetime date
freeze: stop pause
reset: clear restart reset_all clean cleanup reset_state flush
restore: rollback load_snapshot
snapshot: save checkpoint copy dump
start: run listen serve open up activate enable begin
stop: close shutdown down quit deactivate disable kill end terminate teardown
fresh: world new isolated child new_world
issue_key: new_key create_key add_key make_key rotate rotate_key rotate_token renew_key refresh refresh_token
revoke_key: remove_key delete_key expire_key invalidate_key
close_connections: disconnect drop_connections close_all
httpserver: server expect_request stubs
app: wsgi wsgi_app application asgi httpx_client transport
requests_session: session client test_client
url: async_client httpx_client transport session client test_client
to_har: har save_har export export_har
expect_violation: allow_violation expect_error raises ignore_violation
connect: remote client attach RemotePetStoreMock
PetStoreMock: mock_petstore petstore fake FakePetStore MockServer Server Mock PetStoreServer PetStoreFake
PetStoreMock: start run serve app create_app make_app wsgi_app
stateful: check_client ClientBugError
interim: early_hints continue informational
encoded: gzip compressed brotli deflate
endless_body: infinite endless
stall_body: stalled partial_body
until_close: connection_close http10 http_1_0
respond: json redirect moved moved_permanently found no_content teapot
respond: response reply status custom with_status status_code callback json_response http_response will_return
server_error: error http_error fail failure internal_error unavailable with_server_error maintenance outage overloaded
rate_limited: throttle throttled ratelimit quota
unauthorized: unauthenticated invalid_key auth_error
not_found: missing absent
delay: slow latency late sleep wait fixed_delay fixed_delay_milliseconds delay_response lag with_delay delay_ms
hang: timeout read_timeout readtimeout connect_timeout connecttimeout timeouterror stall block never timeoutexception
hang: no_response black_hole freeze pooltimeout writetimeout socket_delay wait_forever
reset: connection_error connectionerror connection_reset connectionreseterror disconnect drop abort network
reset: connection_reset_by_peer network_error connecterror reply_with_error destroy connection_refused drop_connection
reset: dns dns_error dns_failure dns_timeout gaierror enotfound unreachable unknown_host name_resolution
reset: refused exception raise httperror networkerror requesterror ioerror oserror brokenpipeerror readerror
empty_reply: empty empty_response close close_connection remotedisconnected remoteprotocolerror no_data hangup
truncate: incomplete partial cut content_length_mismatch short incompleteread chunkedencodingerror content_length
dribble: trickle slow_body throttle_body chunked_dribble_delay bandwidth drip streaming speed slow_response slow_close
malformed_json: invalid_json garbage bad_json corrupt broken_json random_data_then_close jsondecodeerror not_json
wrong_content_type: html text_html bad_content_type mediatype contenttype
malformed_chunk: malformed_response_chunk bad_chunk invalid_chunk transfer_encoding
sequence: flaky intermittent each toggle
sequence: list tuple multiple chain then series iterator sequential responses cycle random
tls.expired: expired_certificate certificate_expired cert_expired ssl_error sslerror
tls.untrusted_root: self_signed untrusted unknown_ca selfsigned
tls.wrong_host: wrong_hostname hostname_mismatch
on: operation op method path route endpoint target url request match operation_id operations for_operation
times: count n num max_hits repeat repetitions max_times limit calls once max_calls times_called call_count max_count
times: remaining hits reply_count called forever always persist infinite unlimited permanent
after: skip offset start_after ignore_first delay_calls first
when: match matcher predicate condition callback if filter matches
fault: body json text content retry_after
where: match matchers criteria params json body query filter matching json_params_matcher with pet_id id
at: phase stage commit point timing when_committed after_commit
at: date now clock time start_date today freeze
probability: chance rate p ratio likelihood percent percentage
fault: status code status_code delay seconds headers error exception response name
off_contract: force allow_any unchecked strict
patience: timeout max_wait request_timeout
seconds: jitter delay duration timeout time secs ms milliseconds latency
delay: latency sleep wait delay_seconds timeout uniform_distribution log_normal
status: status_code code http_status statuscode returncode
json: data payload body_json json_body content jsonify jsonbody
body: content text data payload raw bytes
headers: header response_headers adding_headers
retry_after: retryafter seconds wait delay
fraction: percent part ratio share
bytes_per_second: rate speed bps bandwidth bytes
host: base_url url address bind listen interface hostname ip
port: listen_port http_port p
html: report html_report
cors: origins allow_origins allowed_origins cross_origin
seed: n
strict: on_unhandled_request assert_all_requests_are_fired
strict: fail_fast strict_mode fail_on_violation assert_all_called raise_on_violation
random_seed: rng random rand seed_random random_state
control: door admin control_door console ui
tls: ssl https secure cert
behaviour: behavior gaps options config
rate: rps requests_per_second qps
max_examples: runs max_runs examples n iterations runs count
max_seconds: seconds duration time budget timeout deadline
make_client: client factory client_factory
classify: error_map errors exceptions error_types classifier error_kind
vary: gaps behaviours variants
ignore: exclude skip disable suppress
concurrent: threads parallel concurrency
proxies: proxy
read_pet: parse pet_fields to_dict decode
allow_create: creates max_creates create write
receipt: log output report
no_repeated_create: no_duplicates duplicates idempotency
retries_are_bounded: retries retry
before_commit: pre_commit
after_commit: post_commit
lenient: lax relaxed loose permissive tolerant easy
hostile: evil nasty chaos harsh
strict: default normal
PetStoreMock: fixture activate responses requests_mock respx_mock
check_client: check find_bugs test_client run fuzz verify_client
ClientBugError: BugError ClientBug Bug
names: name text
new_pets: new_pet new_animals create_pet bodies
pets: pet animal all
invalid_new_pets: bad_pets invalid_pets wrong_pets invalid
list_queries: queries query list_pets
behaviours: behaviour behavior behaviors gaps
fault_plans: plans plan fault_plan
problems: failures findings errors broken issues
request: url uri req
response: reply answer res
target: url uri full_path raw_path
duration: elapsed time took
world/verification: verify verification verify_world
world/reset: reset
pets: animals seed pet
requests: journal calls history log request
requests.har: har
requests/wait: wait
requests/assert: assert verify count
behaviour: behavior configure gaps config settings
clock: time now date
faults: fault inject errors mappings
keys: key tokens api_keys
worlds: list_worlds
health: ready status ping healthz live readyz
control_url: console door admin_url console_url door_url
openapi.json: openapi swagger docs spec swagger.json
serve: start run server up mock
ready: wait health check ping
gaps: behaviours options list behaviour presets
openapi: spec swagger schema export docs
check: replay fuzz
output: out out_file outfile file save
json: junit report output out
verify: test check validate conformance prove
learn: record detect infer discover
demo: example tutorial try
api-key: key token auth
seed: data pets animals db fixtures
set: gap option configure
quiet: silent no_log log_level
log-format: log json format log_json
tls: https ssl
tls-cert: cert certificate ssl_cert certfile
tls-key: key_file keyfile ssl_key
control: admin door console ui
control-port: admin_port
public-url: base_url url external_url root_url
world-ttl: ttl idle_timeout
"""


def _fold(name: str) -> str:
    """Return a name without what spellings differ in: case, hyphens, underscores, spaces."""
    return re.sub(r"[\s_-]", "", name).lower()


@cache
def _meanings() -> Mapping[str, list[str]]:
    """Return our names by the words of others, folded."""
    meanings: dict[str, list[str]] = {}
    for line in _PEERS.strip().splitlines():
        ours, _, theirs = line.partition(": ")
        for word in theirs.split():
            meanings.setdefault(_fold(word), []).append(_fold(ours))
    return meanings


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` most likely means, or None."""
    text = str(name)
    if len(text) > _LONGEST_SLIP:
        return None
    by_fold = {_fold(other): other for other in known}
    for candidate in _candidates(text, by_fold):
        if candidate in by_fold:
            return by_fold[candidate]
    return None


def _candidates(text: str, known: Mapping[str, str]) -> Iterator[str]:
    """Yield the folded names that a text may mean, the likeliest first; ``known`` has the names by folded name."""
    whole = _fold(text)
    meanings = _meanings()
    yield whole
    inner = {other for other in known if "." in other}
    yield from difflib.get_close_matches(whole, known.keys() - inner, n=1, cutoff=_ALIKE)
    yield from meanings.get(whole, ())
    # ``last`` is part of ``journal.last``.
    for other in sorted(inner):
        if other.endswith(f".{whole}"):
            yield other
    # ``base_url`` has the word ``url``, and what a phrase is about stands at its end.
    words = _words(text)[::-1]
    if len(words) > 1:
        yield from words
        for word in words:
            yield from meanings.get(word, ())
    yield from _sharing(words, known)
    yield from difflib.get_close_matches(whole, known, n=1, cutoff=_SIMILAR)


def _words(text: str) -> list[str]:
    return list(map(str.lower, _WORD.findall(text)))


def _sharing(words: Iterable[str], known: Mapping[str, str]) -> list[str]:
    """Return the folded names that share words, or their beginnings: ``prob``, ``probability``; the likest first."""
    asked = "".join(words)
    likeness: dict[str, tuple[int, float]] = {}
    for fold, name in known.items():
        count = sum(starmap(_is_same_word, product(words, _words(name))))
        if count:
            likeness[fold] = count, difflib.SequenceMatcher(None, asked, fold).ratio()
    return sorted(likeness, key=likeness.__getitem__, reverse=True)


def _is_same_word(word: str, other: str) -> bool:
    """Return whether a word is the other one, or its beginning."""
    short, long = sorted((word, other), key=len)
    return len(short) >= _SHORTEST_WORD and long.startswith(short)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)", or "" if no name is near."""
    meant = nearest(name, known)
    return "" if meant is None else f" (did you mean {meant!r}?)"


# Arguments


def guided(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function. Its error for wrong arguments names the right ones."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            # An error of the call itself has no frame of the function.
            if trace is not None and trace.tb_next is None:
                refuse_arguments(function, kwargs, error)
            raise

    return call


def refuse_arguments(
    function: Callable[..., object], given: Iterable[str], error: TypeError, name: str = ""
) -> NoReturn:
    """Raise the error of a call that Python refused, with the names of its arguments and the nearest of them."""
    __tracebackhide__ = True
    forms: dict[str, str] = {}
    takes_any_name = False
    for parameter in signature(function).parameters.values():
        forms[parameter.name] = _FORMS.get(parameter.kind, "{}").format(parameter.name)
        takes_any_name |= parameter.kind is Parameter.VAR_KEYWORD
    forms.pop("self", None)
    words = ", ".join(forms.values())
    takes = f"it takes {words}" if words else "it takes no arguments"
    if not name:
        name = function.__qualname__.removesuffix(".__init__")
    for argument in given:
        if argument not in forms and not takes_any_name:
            hint = did_you_mean(argument, forms)
            raise TypeError(f"{name}() has no argument {argument!r}{hint}; {takes}") from None
    raise TypeError(f"{error}; {takes}") from None


# How a message shows an argument of a kind; any other kind has the plain name.
_FORMS: Final[Mapping[object, str]] = {
    Parameter.KEYWORD_ONLY: "{}=",
    Parameter.VAR_POSITIONAL: "*{}",
    Parameter.VAR_KEYWORD: "**{}",
}


# Attributes


def helpful(**parts: type) -> Callable[[T], T]:
    """Return a decorator for a public class: its errors for unknown attributes and arguments name the nearest one.

    Args:
        parts: attributes whose own attributes count as near, with their classes: ``petstore.last`` is in ``journal``.
    """

    def decorate(public: T) -> T:
        for name in ("__init__", *_public_names(vars(public))):
            member = vars(public).get(name)
            if isinstance(member, FunctionType):
                setattr(public, name, guided(member))
        return readable(**parts)(public)

    return decorate


def readable(**parts: type) -> Callable[[T], T]:
    """Return a decorator like :func:`helpful`, for attributes only: wrapped methods would slow each request."""

    def decorate(public: T) -> T:
        def missing(self: object, name: str) -> NoReturn:
            __tracebackhide__ = True
            raise no_attribute(self, name, parts)

        if not hasattr(public, "__getattr__"):
            public.__getattr__ = missing
        return public

    return decorate


def no_attribute(owner: object, name: str, parts: Mapping[str, type]) -> AttributeError:
    """Return the error for an attribute that an object does not have."""
    if hasattr(type(owner), name):
        # A property of this name raised an AttributeError, which Python has dropped.
        object.__getattribute__(owner, name)
    words = f"{type(owner).__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(words)
    own = _public_names({*dir(type(owner)), *getattr(owner, "__dict__", ())})
    known = [*own]
    for part, cls in parts.items():
        known += map(f"{part}.{{}}".format, _public_names(dir(cls)))
    return AttributeError(words + _offer(name, known, own))


def of_module(module: str, names: Iterable[str]) -> Callable[[str], NoReturn]:
    """Return ``__getattr__`` for a module with these public names (PEP 562)."""

    def missing(name: str) -> NoReturn:
        __tracebackhide__ = True
        words = f"module {module!r} has no attribute {name!r}"
        if not name.startswith("_"):
            words += _offer(name, names, names)
        raise AttributeError(words)

    return missing


def _public_names(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith("_"))


def _offer(name: str, known: Iterable[str], shown: Iterable[str]) -> str:
    """Return the nearest name, or all names that are shown if none is near."""
    hint = did_you_mean(name, known)
    return hint or f" (it has {', '.join(shown)})"
