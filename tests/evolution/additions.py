"""The additions to the interface: rows of every effect, kind of values and relation, as a developer would write them.

Their paths and names are ones that the real interface is unlikely to take. If it takes one all the same, give the row
here another name. A field with an order has three samples, so that a filter by it has animals on both sides. Five
samples of a boolean, and three of the colours, keep these out of step with other fields: so pairs of filters differ.
"""

from __future__ import annotations

from typing import Any, Final

TEXT: Final = {"type": "string"}
# The properties of an animal that the additions have, by name.
FIELDS: Final[dict[str, dict[str, Any]]] = {
    "colours": {"description": "Colours", "type": "array", "items": TEXT, "maxItems": 10},
    "weight": {"description": "Weight in kilograms", "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1000},
    "isChipped": {"description": "Whether it has a chip", "type": "boolean"},
    "born": {"description": "The day of its birth", "type": "string", "format": "date"},
    "seenAt": {"description": "When somebody saw it", "type": "string", "format": "date-time"},
    "temper": {"description": "Its temper", "type": "string", "enum": ["calm", "lively"]},
    "motto": {"description": "Its motto", "type": "string"},
    "chip": {
        "description": "Its chip",
        "type": "object",
        "properties": {
            "code": {"type": "string", "minLength": 2, "maxLength": 20},
            "readAt": {"type": ["string", "null"], "format": "date-time"},
            "maker": {"type": "string", "enum": ["Avid", "Datamars"]},
        },
        "required": ["code"],
        "additionalProperties": False,
    },
    "foods": {
        "description": "What it eats",
        "type": "array",
        "items": {"type": "string", "enum": ["fish", "hay", "seeds"]},
    },
}
FIELD_ROWS: Final = """\
    Field(
        name="colours",
        samples=(["brown"], ["grey", "white"], ["grey"]),
        null="null_additions",
        sentence=Sentence("2", "NewPet: colours, array of strings: the animal's colours"),
    ),
    Field(
        name="weight",
        samples=(4.5, 30, 0.25),
        null="null_additions",
        sentence=Sentence("2", "NewPet: weight, number between 0 and 1000: the animal's weight"),
    ),
    Field(
        name="isChipped",
        samples=(True, False, False, True, False),
        null="null_additions",
        sentence=Sentence("2", "NewPet: isChipped, boolean: whether it has a chip"),
    ),
    Field(
        name="born",
        samples=("2021-06-15", "2019-12-31", "2020-02-29"),
        null="null_additions",
        sentence=Sentence("2", "NewPet: born, date: the day of the animal's birth"),
    ),
    Field(
        name="seenAt",
        samples=(
            *("2021-06-15T10:00:00Z", "2022-01-01T00:00:00+02:00", "2020-05-05T05:05:05Z", "2023-01-02T03:04:05Z"),
            *("2019-07-07T07:07:07Z", "2024-02-29T12:00:00Z", "2018-08-08T08:08:08+01:00"),
        ),
        null="null_additions",
        sentence=Sentence("2", "NewPet: seenAt, date-time: when somebody saw the animal"),
    ),
    Field(
        name="temper",
        samples=("calm", "lively"),
        null="null_additions",
        sentence=Sentence("2", "NewPet: temper, one of calm, lively: the animal's temper"),
    ),
    Field(
        name="motto",
        samples=("Carpe diem", "Festina lente"),
        null="null_additions",
        sentence=Sentence("2", "NewPet: motto, string: the animal's motto"),
    ),
    Field(
        name="chip",
        samples=(
            {"code": "A1", "readAt": None},
            {"code": "B2", "readAt": "2021-06-15T10:00:00Z", "maker": "Avid"},
            {"code": "C3"},
        ),
        null="null_additions",
        sentence=Sentence("2", "NewPet: chip, object with code, readAt and maker: the animal's chip"),
    ),
    Field(
        name="foods",
        samples=(["hay"], ["fish", "seeds"], []),
        null="null_additions",
        sentence=Sentence("2", "NewPet: foods, array of fish, hay, seeds: what the animal eats"),
    ),
"""

# The parameters of listPets that the additions have, with the schema of each.
PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    "colour": {"description": "Returns only animals with this colour", "type": "string"},
    "bornAfter": {"description": "Returns only animals born after this day", "type": "string", "format": "date"},
    "lighterThan": {"description": "Returns only lighter animals", "type": "number"},
    "X-Food": {
        "description": "Returns only animals that eat this",
        "type": "string",
        "enum": ["fish", "hay", "seeds"],
    },
    "X-Chipped": {"description": "Returns only animals with or without a chip", "type": "boolean"},
    "X-Seen-Since": {"description": "Returns only animals seen later", "type": "string", "format": "date-time"},
}
PARAMETER_ROWS: Final = """\
            Parameter(
                name="colour", relation="contains", field="colours", sentence=Sentence("4.1", "colour: string")
            ),
            Parameter(
                name="bornAfter",
                relation="after",
                field="born",
                gap="invalid_birthday",
                sentence=Sentence("4.1", "bornAfter: date; returns only animals born after this day"),
            ),
            Parameter(
                name="lighterThan",
                relation="before",
                field="weight",
                sentence=Sentence("4.1", "lighterThan: number; returns only animals of less weight"),
            ),
            Parameter(
                name="X-Food",
                relation="contains",
                where="header",
                field="foods",
                sentence=Sentence("4.1", "X-Food: one of fish, hay, seeds; returns only animals that eat this"),
            ),
            Parameter(
                name="X-Chipped",
                relation="equals",
                where="header",
                field="isChipped",
                sentence=Sentence("4.1", "X-Chipped: boolean; returns only animals with or without a chip"),
            ),
            Parameter(
                name="X-Seen-Since",
                relation="after",
                where="header",
                field="seenAt",
                gap="invalid_sighting",
                sentence=Sentence("4.1", "X-Seen-Since: date-time; returns only animals that were seen later"),
            ),
"""
GAP_ROW: Final = """\
    Gap(
        "validate",
        "invalid_birthday",
        "§7: Errors for invalid query parameters on listPets (a wrong bornAfter): not shown.",
        "that the service refuses a wrong bornAfter, or that it ignores such a value",
        {
            "reject": Choice("Responds with 400.", _refuse),
            "ignore": Choice("Lists as if the request had no bornAfter.", _ignored),
        },
        decides="parameter",
    ),
    Gap(
        "validate",
        "invalid_sighting",
        "§7: Errors for invalid query parameters on listPets: not shown; nor those for a wrong X-Seen-Since.",
        "that the service refuses a wrong X-Seen-Since, or that it ignores such a value",
        {
            "reject": Choice("Responds with 400.", _refuse),
            "ignore": Choice("Lists as if the request had no X-Seen-Since.", _ignored),
        },
        decides="parameter",
    ),
    Gap(
        "validate",
        "malformed_category",
        "§4.96: categoryId is an int64; the response to another text in the path is not shown.",
        "a certain status for a categoryId in the path that is not an int64",
        {
            "bad_request": Choice("Responds with 400.", "invalid_path"),
            "not_found": Choice("Responds with 404.", "malformed_path"),
        },
        decides="parameter",
    ),
    Gap(
        "validate",
        "invalid_weight",
        "§7: Errors for a wrong X-Weight: not shown.",
        "that the service refuses a wrong X-Weight, or that it ignores such a value",
        {
            "reject": Choice("Responds with 400.", _refuse),
            "ignore": Choice("Keeps the weight.", _ignored),
        },
        decides="parameter",
    ),
    Gap(
        "validate",
        "null_additions",
        "§2: the optional fields have types; the interface does not say whether null means that a field is absent.",
        "that the service treats null like a missing field",
        {
            "reject": Choice("Responds with 400.", True),
            "as_omitted": Choice("Treats null like a missing field.", False),
        },
        decides="null",
        texts=("null",),
    ),
"""

_PET_ID: Final = """\
            Parameter(
                name="petId",
                where="path",
                relation="identifies",
                gap="malformed_pet_id",
                sentence=Sentence("{section}", "petId: required, integer, int64"),
            ),
"""


def _operation(
    name: str, method: str, path: str, section: str, effect: str, success: int, errors: str, *more: str, own: str = ""
) -> str:
    parameters = own or (_PET_ID.replace("{section}", section) if "{petId}" in path else "")
    lines = [
        f'        name="{name}",',
        f'        method="{method}",',
        f'        path="{path}",',
        f'        section="{section}",',
        f'        summary="{name} in words",',
        f'        effect="{effect}",',
        f"        success={success},",
        f"        errors=({errors},),",
        *(f"        {line}," for line in more),
        *([f"        parameters=(\n{parameters}        ),"] if parameters else []),
    ]
    return "    Operation(\n" + "\n".join(lines) + "\n    ),\n"


_OF_CATEGORY: Final = """\
            Parameter(
                name="categoryId",
                relation="{relation}",
                where="path",
                gap="malformed_category",
                sentence=Sentence("{section}", "categoryId: required, integer, int64"),
            ),
"""
# Optional, and it sets a field: a request without it leaves the field as it was.
_MEASURED: Final = """\
            Parameter(
                name="X-Weight",
                relation="sets",
                where="header",
                field="weight",
                gap="invalid_weight",
                sentence=Sentence("4.901", "X-Weight: number, the measured weight"),
            ),
"""
# Both may be left out: one has a default then, and the other leaves the field as it was. The interface demands 400 for
# a wrong one.
_RENTED: Final = """\
            Parameter(
                name="temper",
                relation="sets",
                sentence=Sentence("4.902", "temper: one of calm, lively; default lively"),
            ),
            Parameter(
                name="born",
                relation="sets",
                sentence=Sentence("4.902", "born: date; the day of its birth"),
            ),
"""
# Each text is a motto, so no gap decides about a malformed one.
_OF_MOTTO: Final = """\
            Parameter(
                name="motto",
                relation="equals",
                where="path",
                sentence=Sentence("4.99", "motto: required, string"),
            ),
"""
_TRANSFER_MEMBERS: Final = """\
members=(
            Field(
                name="cause",
                samples=("Too loud", "Too many"),
                sentence=Sentence("4.98", "cause: string, 2 to 12 characters, required: why it moves"),
            ),
            Field(
                name="until",
                samples=("2026-02-01", "2025-12-24"),
                sentence=Sentence("4.98", "until: date or null: the last day in the shelter"),
            ),
            Field(
                name="saying",
                sets="motto",
                samples=("Panta rhei", "Nil desperandum"),
                null="null_additions",
                sentence=Sentence("4.98", "saying: string: the animal's new motto"),
            ),
        )"""


def _of_category(section: str, relation: str) -> str:
    return _OF_CATEGORY.replace("{section}", section).replace("{relation}", relation)


_SHOWS: Final = ('response="Pet"', 'response_words="The animal"')
OPERATION_ROWS: Final = "".join(
    (
        _operation("retirePet", "DELETE", "/pets/{petId}/licence", "4.91", "removes", 204, "401, 404"),
        _operation(
            "rehousePet",
            "PUT",
            "/pets/{petId}/home",
            "4.92",
            "replaces",
            200,
            "400, 401, 404",
            'body="NewPet"',
            *_SHOWS,
        ),
        _operation(
            "groomPet", "PATCH", "/pets/{petId}/look", "4.93", "changes", 200, "400, 401, 404", 'body="Look"', *_SHOWS
        ),
        _operation("calmPet", "POST", "/pets/{petId}/rest", "4.94", "changes", 204, "401, 404"),
        _operation(
            "weighPet",
            "PATCH",
            "/pets/{petId}/scale",
            "4.901",
            "changes",
            200,
            "400, 401, 404",
            'body="Weighing"',
            *_SHOWS,
            own=_PET_ID.replace("{section}", "4.901") + _MEASURED,
        ),
        _operation(
            "rentPet",
            "POST",
            "/pets/{petId}/rent",
            "4.902",
            "changes",
            200,
            "400, 401, 404",
            *_SHOWS,
            own=_PET_ID.replace("{section}", "4.902") + _RENTED,
        ),
        _operation("newestPet", "GET", "/newest-pet", "4.95", "reads", 200, "401, 404", *_SHOWS),
        _operation(
            "adoptPet",
            "POST",
            "/shelters/{categoryId}/arrivals",
            "4.96",
            "creates",
            201,
            "400, 401",
            'body="Arrival"',
            *_SHOWS,
            own=_of_category("4.96", "sets"),
        ),
        _operation(
            "shelterPets",
            "GET",
            "/shelters/{categoryId}/pets",
            "4.97",
            "lists",
            200,
            "401",
            'response="Pets"',
            'response_words="The animals of a shelter"',
            own=_of_category("4.97", "equals"),
        ),
        _operation(
            "transferPet",
            "PUT",
            "/shelters/{categoryId}/guests/{petId}",
            "4.98",
            "changes",
            200,
            "400, 401, 404",
            'body="Transfer"',
            _TRANSFER_MEMBERS,
            *_SHOWS,
            own=_of_category("4.98", "sets") + _PET_ID.replace("{section}", "4.98"),
        ),
        _operation(
            "sayingPets",
            "GET",
            "/sayings/{motto}/pets",
            "4.99",
            "lists",
            200,
            "401",
            'response="Pets"',
            'response_words="The animals with a motto"',
            own=_OF_MOTTO,
        ),
    )
)
EXECUTORS: Final = '''\
def found(call: Call) -> int | Refusal:
    """Return the id of the animal, or the refusal for an absent one."""
    store, pet_id = call.world.store, call.route.pet_id
    if store.get(pet_id) is None or store.hides(pet_id):
        return Refusal("absent_pet", detail=f"petId {pet_id}")
    return pet_id


def retire_pet(call: Call) -> Response | Refusal:
    """Remove the animal."""
    pet_id = found(call)
    if isinstance(pet_id, Refusal):
        return pet_id
    if call.commit:
        call.world.store.remove(pet_id)
    return success(call)


def changed(call: Call, fields: object, *, shows: bool = True) -> Response | Refusal:
    pet_id = found(call)
    if isinstance(pet_id, Refusal):
        return pet_id
    pet = {**fields(call.world.store.document(pet_id) or {}), "id": pet_id}
    pet = {name: pet[name] for name in FIELDS if name in pet}
    content = call.world.store.put(pet) if call.commit else encode_json(pet)
    return success(call, content if shows else None)


def rehouse_pet(call: Call) -> Response | Refusal:
    """Replace the animal."""
    return changed(call, lambda _: dict(call.body or {}))


def groom_pet(call: Call) -> Response | Refusal:
    """Change some fields of the animal."""
    return changed(call, lambda pet: {**pet, **(call.body or {})})


def calm_pet(call: Call) -> Response | Refusal:
    """Change the temper of the animal."""
    return changed(call, lambda pet: {**pet, "temper": "calm"}, shows=False)


def weigh_pet(call: Call) -> Response | Refusal:
    """Change the chip and the weight of the animal."""
    given = call.operation.fields_in(call.body or {}, call.route.arguments)
    return changed(call, lambda pet: {**pet, **given})


def rent_pet(call: Call) -> Response | Refusal:
    """Change the temper of the animal, and perhaps its birthday."""
    given = {name: value for name, value in call.route.arguments.items() if name in FIELDS}
    return changed(call, lambda pet: {**pet, **given})


def transfer_pet(call: Call) -> Response | Refusal:
    """Move the animal to the category in the path, perhaps with a new motto."""
    given = call.operation.fields_in(call.body or {}, call.route.arguments)
    return changed(call, lambda pet: {**pet, **given})


def newest_pet(call: Call) -> Response | Refusal:
    """Return the animal with the highest id."""
    store = call.world.store
    ids = [pet_id for pet_id in store.ids() if not store.hides(pet_id)]
    return success(call, store.get(ids[-1])) if ids else Refusal("absent_pet", detail="no animal is left")


def adopt_pet(call: Call) -> Response:
    """Create an animal of the category in the path."""
    store = call.world.store
    pet = {"id": store.free_id(), **(call.body or {}), "categoryId": call.route.arguments["categoryId"]}
    pet = {name: pet[name] for name in FIELDS if name in pet}
    content = store.put(pet) if call.commit else encode_json(pet)
    if call.commit and store.rules.policies.visibility:
        store.hide(pet["id"], store.rules.policies.visibility)
    return success(call, content)


def shelter_pets(call: Call) -> Response:
    """Return all animals that the path selects."""
    store = call.world.store
    ids = [pet_id for pet_id in store.ids(call.route.filters) if not store.hides(pet_id)]
    return success(call, store.page(store.rules.policies.list_order(ids, len(ids), store, store.random)))


'''
EXECUTOR_ROWS: Final = "".join(
    f'    "{name}": {function},\n'
    for name, function in {
        "retirePet": "retire_pet",
        "rehousePet": "rehouse_pet",
        "groomPet": "groom_pet",
        "calmPet": "calm_pet",
        "newestPet": "newest_pet",
        "adoptPet": "adopt_pet",
        "shelterPets": "shelter_pets",
        "transferPet": "transfer_pet",
        "weighPet": "weigh_pet",
        "rentPet": "rent_pet",
        "sayingPets": "shelter_pets",
    }.items()
)
# Further schemas: the bodies of three operations, and the parameters of all. A name stands for a property of NewPet.
LOOK: Final = ("name", "colours", "weight", "motto")
ARRIVAL: Final = ("name", "born", "temper")
TRANSFER: Final[dict[str, dict[str, Any]]] = {
    "cause": {"description": "Why it moves", "type": "string", "minLength": 2, "maxLength": 12},
    "until": {"description": "The last day", "type": ["string", "null"], "format": "date"},
    "saying": {"description": "Its new motto", "type": "string"},
}
OF_ONE_PET: Final = ("retirePet", "rehousePet", "groomPet", "calmPet")
OF_A_SCALE: Final = ("weighPet",)
OF_A_RENT: Final = ("rentPet",)
OF_A_CATEGORY: Final = ("adoptPet", "shelterPets")
OF_A_PET_AND_A_CATEGORY: Final = ("transferPet",)
OF_A_MOTTO: Final = ("sayingPets",)
WITHOUT_PARAMETERS: Final = ("newestPet",)
