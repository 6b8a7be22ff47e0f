// The types of the control door. tools/node_types.py generates this file from the document of the door.

export type Amounts = { "days"?: number; "hours"?: number; "minutes"?: number; "seconds"?: number };

export type Animal = { "id": number | bigint; "name": string; "categoryId": number | bigint; "status"?: "available" | "pending" | "sold" };

export type AnimalChanges = { "id"?: number | bigint; "name"?: string; "categoryId"?: number | bigint; "status"?: "available" | "pending" | "sold" | null };

export type Archive = { "log": { "version": string; "creator": { "name": string; "version": string }; "pages": Array<unknown>; "entries": Array<unknown> } };

export type Asserted = { "passed": boolean; "message": string };

export type Behaviour = { "invalid_limit": "reject" | "clamp" | "ignore"; "invalid_status_filter": "reject" | "empty" | "ignore"; "unknown_query": "reject" | "ignore"; "repeated_query": "reject" | "first" | "last"; "unknown_body_field": "reject" | "ignore"; "null_status": "reject" | "as_omitted"; "integral_float": "reject" | "accept"; "duplicate_member": "reject" | "last"; "name_rule": "any" | "non_empty" | "max_255"; "category_rule": "any" | "positive"; "malformed_pet_id": "not_found" | "bad_request"; "media_type": "unsupported_415" | "bad_request" | "accept"; "body_limit": "one_mebibyte" | "none"; "unknown_route": "not_found" | "not_implemented"; "status_when_omitted": "absent" | "available" | "pending" | "sold"; "list_order": "id_ascending" | "id_descending" | "by_name" | "arbitrary_stable" | "arbitrary"; "page_fill": "full" | "short"; "id_assignment": "sequential" | "sparse" | "random_int64" | "beyond_2_53"; "error_codes": "standard" | "terse" | "numeric_strings"; "extra_response_fields": "none" | "present"; "after_removal": "gone" | "not_found" | "still_served"; "json_style": "compact" | "pretty" | "ascii" | "shuffled_members"; "paging_headers": "none" | "link" | "next_link" | "total_count"; "location_header": "absent" | "present"; "deprecation_headers": "present" | "absent"; "content_type": "plain" | "with_charset"; "answer_framing": "content_length" | "chunked"; "header_names": "canonical" | "lower_case"; "connection": "kept" | "closed_after_answer"; "rate_limit": "none" | "retry_after_seconds" | "retry_after_date"; "key_rotation": "never" | "mid_session"; "visibility": "immediate" | "delayed" };

export type BehaviourChoice = "strict" | "lenient" | "helpful" | "hostile" | GapChoices | null;

export type Clock = { "now": string; "frozen": boolean };

export type Criteria = { "limit"?: unknown; "status"?: number | string | null; "name"?: unknown; "categoryId"?: unknown; "petId"?: unknown; "json"?: unknown; "body"?: string; "query"?: unknown; "headers"?: unknown; "method"?: string; "path"?: string; "fault"?: unknown; "condition"?: unknown };

export type Ended = { "ended": number; "problems": Array<Problem> };

export type Exchange = { "number": number; "at": string; "state": string; "method": string; "target": string; "path": string; "query": Record<string, Array<string>>; "headers": Record<string, string>; "fields": Array<Array<string>>; "body": unknown; "body_text": string | null; "body_base64": string | null; "body_size": number; "body_cut": number; "status": number | null; "response_headers": Record<string, string>; "response_fields": Array<Array<string>>; "response_body": unknown; "response_body_text": string | null; "response_body_base64": string | null; "response_size": number; "response_body_cut": number; "operation": string | null; "fault": string | null; "fault_data": unknown; "delayed_by": unknown; "executed": boolean; "outcome": string | null; "duration_ms": number; "violations": Array<Violation>; "omitted": number; "expected": boolean; "condition": string | null; "condition_status": number | null; "detail": string; "decision": string; "reason": string; "hidden": string; "owner": string | null; "base_path": string; "connection": number; "exchange": number; "started": number; "version": string; "oversized": boolean; "secure": boolean; "sent": boolean; "by_expectation": boolean; "mutant": string | null };

export type Fault = number | FaultRespond | FaultUnauthorized | FaultNotFound | FaultBadRequest | FaultServerError | FaultRateLimited | FaultDelay | FaultHang | FaultReset | FaultEmptyReply | FaultTruncate | FaultDribble | FaultMalformedJson | FaultWrongContentType | FaultMalformedChunk | FaultInterim | FaultSurplus | FaultIdle408 | FaultManyFields | FaultExtraFields | FaultNoSpaces | FaultReasonPhrase | FaultNoDate | FaultUntilClose | FaultChunkExtras | FaultEncoded | FaultStallBody | FaultEndlessBody | FaultTlsExpired | FaultTlsWrongHost | FaultTlsUntrustedRoot | FaultTlsHandshakeReset | FaultTlsHandshakeHang | FaultSequence;

export type FaultBadRequest = { "kind": "bad_request"; "delay"?: number | Array<number> };

export type FaultChunkExtras = { "kind": "chunk_extras" };

export type FaultDelay = { "kind": "delay"; "seconds": number | Array<number> };

export type FaultDribble = { "kind": "dribble"; "bytes_per_second": number };

export type FaultEmptyReply = { "kind": "empty_reply" };

export type FaultEncoded = { "kind": "encoded"; "coding": "gzip" | "gzip-multi" | "x-gzip" | "deflate-zlib" | "deflate-raw" | "double" | "gzip-cut" };

export type FaultEndlessBody = { "kind": "endless_body" };

export type FaultExtraFields = { "kind": "extra_fields"; "headers": Record<string, string | Array<string>> };

export type FaultHang = { "kind": "hang" };

export type FaultIdle408 = { "kind": "idle_408" };

export type FaultInterim = { "kind": "interim"; "status": 100 | 102 | 103; "times"?: number };

export type FaultMalformedChunk = { "kind": "malformed_chunk" };

export type FaultMalformedJson = { "kind": "malformed_json" };

export type FaultManyFields = { "kind": "many_fields"; "n"?: number };

export type FaultNoDate = { "kind": "no_date" };

export type FaultNoSpaces = { "kind": "no_spaces" };

export type FaultNotFound = { "kind": "not_found"; "delay"?: number | Array<number> };

export type FaultRateLimited = { "kind": "rate_limited"; "retry_after"?: number | string | null; "delay"?: number | Array<number> };

export type FaultReasonPhrase = { "kind": "reason_phrase"; "phrase"?: string };

export type FaultReset = { "kind": "reset" };

export type FaultRespond = { "kind": "respond"; "status": number; "json"?: unknown; "body"?: string; "headers"?: Record<string, string | Array<string>>; "delay"?: number | Array<number>; "body_base64"?: string };

export type FaultSequence = { "kind": "sequence"; "faults": Array<Fault> };

export type FaultServerError = { "kind": "server_error"; "status"?: number; "delay"?: number | Array<number> };

export type FaultStallBody = { "kind": "stall_body"; "after"?: number };

export type FaultSurplus = { "kind": "surplus" };

export type FaultTlsExpired = { "kind": "tls.expired" };

export type FaultTlsHandshakeHang = { "kind": "tls.handshake_hang" };

export type FaultTlsHandshakeReset = { "kind": "tls.handshake_reset" };

export type FaultTlsUntrustedRoot = { "kind": "tls.untrusted_root" };

export type FaultTlsWrongHost = { "kind": "tls.wrong_host" };

export type FaultTruncate = { "kind": "truncate"; "fraction"?: number };

export type FaultUnauthorized = { "kind": "unauthorized"; "delay"?: number | Array<number> };

export type FaultUntilClose = { "kind": "until_close" };

export type FaultWrongContentType = { "kind": "wrong_content_type" };

export type GapChoices = { "invalid_limit"?: "reject" | "clamp" | "ignore"; "invalid_status_filter"?: "reject" | "empty" | "ignore"; "unknown_query"?: "reject" | "ignore"; "repeated_query"?: "reject" | "first" | "last"; "unknown_body_field"?: "reject" | "ignore"; "null_status"?: "reject" | "as_omitted"; "integral_float"?: "reject" | "accept"; "duplicate_member"?: "reject" | "last"; "name_rule"?: "any" | "non_empty" | "max_255"; "category_rule"?: "any" | "positive"; "malformed_pet_id"?: "not_found" | "bad_request"; "media_type"?: "unsupported_415" | "bad_request" | "accept"; "body_limit"?: "one_mebibyte" | "none"; "unknown_route"?: "not_found" | "not_implemented"; "status_when_omitted"?: "absent" | "available" | "pending" | "sold"; "list_order"?: "id_ascending" | "id_descending" | "by_name" | "arbitrary_stable" | "arbitrary"; "page_fill"?: "full" | "short"; "id_assignment"?: "sequential" | "sparse" | "random_int64" | "beyond_2_53"; "error_codes"?: "standard" | "terse" | "numeric_strings"; "extra_response_fields"?: "none" | "present"; "after_removal"?: "gone" | "not_found" | "still_served"; "json_style"?: "compact" | "pretty" | "ascii" | "shuffled_members"; "paging_headers"?: "none" | "link" | "next_link" | "total_count"; "location_header"?: "absent" | "present"; "deprecation_headers"?: "present" | "absent"; "content_type"?: "plain" | "with_charset"; "answer_framing"?: "content_length" | "chunked"; "header_names"?: "canonical" | "lower_case"; "connection"?: "kept" | "closed_after_answer"; "rate_limit"?: "none" | "retry_after_seconds" | "retry_after_date"; "key_rotation"?: "never" | "mid_session"; "visibility"?: "immediate" | "delayed"; "preset"?: "strict" | "lenient" | "helpful" | "hostile" };

export type Gaps = { "gaps": Array<{ "name": string; "step": string; "section": string; "sentence": string; "default": string; "do_not_assume": string; "alternatives": Array<string>; "effects": Array<string> }>; "presets": { "strict": Record<string, unknown>; "lenient": { "invalid_limit": string; "invalid_status_filter": string; "unknown_query": string; "repeated_query": string; "unknown_body_field": string; "null_status": string; "integral_float": string; "duplicate_member": string; "media_type": string; "body_limit": string }; "helpful": { "status_when_omitted": string; "paging_headers": string; "location_header": string; "deprecation_headers": string; "content_type": string }; "hostile": { "list_order": string; "page_fill": string; "id_assignment": string; "error_codes": string; "extra_response_fields": string; "json_style": string; "deprecation_headers": string; "content_type": string; "answer_framing": string; "header_names": string; "connection": string; "after_removal": string; "malformed_pet_id": string } } };

export type Key = { "api_key": string; "expires": string | null; "revoked": boolean };

export type Leak = { "world": string; "request": string; "status": number; "by_key": boolean };

export type Leaks = { "leaks": Array<Leak>; "total": number };

export type NewAnimal = { "id"?: number | bigint; "name"?: string; "categoryId"?: number | bigint; "status"?: "available" | "pending" | "sold" };

export type PetCount = { "count": number };

export type PlannedFault = { "on": "listPets" | "createPet" | "getPet" | null; "times": number | null; "after": number; "at": "before_commit" | "after_commit"; "probability": number; "off_contract": boolean; "where": Criteria | null; "id": number; "fault": Fault; "hits": number; "spent": boolean; "why_not": string | null };

export type Problem = { "kind": "unfired_fault" | "violation" | "error"; "message": string };

export type Refusal = { "title": string; "status": number; "detail": string; "violations"?: Array<{ "field": string; "message": string }> };

export type Requests = { "requests": Array<Exchange>; "more": boolean; "total": number; "evicted": number; "clears": number };

export type Verification = { "passed": boolean; "problems": Array<Problem> };

export type Violation = { "section": string; "field": string; "message": string; "sentence": string; "rule": string | null; "expected": string; "value": string | null; "subject": string };

export type Waited = { "met": boolean; "requests": Array<Exchange>; "more": boolean };

export type World = { "name": string; "url": string; "api_key": string; "pets": number; "requests": number; "violations": number; "faults": number; "strict": boolean; "mutant": string | null; "passed"?: boolean; "age"?: number; "previous"?: Verification };

/** The operations of one world, by method and path. */
export interface Operations {
  /** Stream the requests and changes of this world: made, reset, cleared, ended. At the root, those of all worlds. */
  "GET events": { body: undefined; result: string };
  /** List the requests in the journal, oldest first. */
  "GET requests": { body: undefined; result: Requests };
  /** Clear the journal. The verification still reports the violations. */
  "DELETE requests": { body: undefined; result: undefined };
  /** Wait until the journal has at least the given number of matching requests. */
  "POST requests/wait": { body: { "operation"?: "listPets" | "createPet" | "getPet" | null; "times"?: number | null; "count"?: number | null; "where"?: Criteria | null; "timeout"?: number }; result: Waited };
  /** Assert that the journal has exactly the given number of matching requests; without a number, at least one. */
  "POST requests/assert": { body: { "operation"?: "listPets" | "createPet" | "getPet" | null; "times"?: number | null; "count"?: number | null; "where"?: Criteria | null }; result: Asserted };
  /** Mark violations as expected, so that the verification does not report them. */
  "POST requests/expect": { body: { "numbers": Array<number>; "clears"?: number | null }; result: undefined };
  /** Return the journal as a HAR 1.2 archive. */
  "GET requests.har": { body: undefined; result: Archive };
  /** Return the newest requests as an HTML page. */
  "GET requests.html": { body: undefined; result: string };
  /** Return the journal as text, as pytest prints it. */
  "GET requests.txt": { body: undefined; result: string };
  /** Return the curl command that sends a request again. */
  "GET requests/{number}/curl": { body: undefined; result: string };
  /** Close the idle connections whose latest request was to this world; at the root, all idle connections. */
  "POST connections/close": { body: undefined; result: undefined };
  /** Make the world, or replace the existing one for another test. */
  "PUT world": { body: { "api_key"?: string | null; "seed"?: Array<NewAnimal> | number | null; "behaviour"?: BehaviourChoice; "at"?: string | null; "strict"?: boolean; "random_seed"?: number; "mutant"?: string | null }; result: World };
  /** Return the world's address, API key and counts. */
  "GET world": { body: undefined; result: World };
  /** End the world, and list the problems that would fail its test. */
  "DELETE world": { body: undefined; result: Verification };
  /** Describe the pet store service, not the door, as an OpenAPI 3.1 document. */
  "GET service/openapi.json": { body: undefined; result: Record<string, unknown> };
  /** Reset the world to its starting state. The next verification still reports earlier problems. */
  "POST world/reset": { body: undefined; result: World };
  /** List the problems that would fail a test. */
  "GET world/verification": { body: undefined; result: Verification };
  /** List the problems that would fail a test, and mark them as reported. */
  "POST world/verification": { body: { "again"?: boolean }; result: Verification };
  /** List the animals. */
  "GET pets": { body: undefined; result: { "pets": Array<Animal> } };
  /** Add one animal, a list of animals, or a number of generated animals. Adds all or none. */
  "POST pets": { body: NewAnimal | Array<NewAnimal> | PetCount; result: { "pets": Array<Animal> } };
  /** Change an animal, as another actor of the store would. null removes an optional field. */
  "PATCH pets/{pet_id}": { body: AnimalChanges; result: Animal };
  /** Remove an animal, as another actor of the store would. */
  "DELETE pets/{pet_id}": { body: undefined; result: undefined };
  /** List the planned faults, including spent ones. */
  "GET faults": { body: undefined; result: { "faults": Array<PlannedFault> } };
  /** Plan a fault. */
  "POST faults": { body: { "fault": Fault; "on"?: "listPets" | "createPet" | "getPet" | null; "times"?: number | null; "after"?: number; "at"?: "before_commit" | "after_commit"; "probability"?: number; "off_contract"?: boolean; "where"?: Criteria | null }; result: PlannedFault };
  /** Cancel every fault. The verification no longer expects any of them to fire. */
  "DELETE faults": { body: undefined; result: undefined };
  /** Cancel a fault. */
  "DELETE faults/{fault_id}": { body: undefined; result: undefined };
  /** Return every gap with the chosen alternative. */
  "GET behaviour": { body: undefined; result: Behaviour };
  /** Choose alternatives for gaps, or a preset with alternatives that override it. */
  "PATCH behaviour": { body: GapChoices; result: Behaviour };
  /** List the gaps, their alternatives and the presets. */
  "GET gaps": { body: undefined; result: Gaps };
  /** Return the fake's time. */
  "GET clock": { body: undefined; result: Clock };
  /** Change the clock: first travel to a moment, then advance, then freeze or run. */
  "PATCH clock": { body: { "travel_to"?: string | null; "advance"?: Amounts | null; "freeze"?: boolean | null }; result: Clock };
  /** List the API keys. */
  "GET keys": { body: undefined; result: { "keys": Array<Key> } };
  /** Issue another API key. It expires after a number of seconds, at a moment, or never. */
  "POST keys": { body: { "expires"?: number | string | null }; result: { "api_key": string } };
  /** Revoke an API key. */
  "DELETE keys/{api_key}": { body: undefined; result: undefined };
  /** Take a snapshot of the state. */
  "POST snapshots": { body: undefined; result: { "id": number } };
  /** Restore the state of a snapshot. */
  "POST snapshots/{snapshot_id}/restore": { body: undefined; result: World };
  /** Delete a snapshot. */
  "DELETE snapshots/{snapshot_id}": { body: undefined; result: undefined };
}
