"""A fake as teams write it with FastAPI, on uvicorn: ``python -m benchmarks.peers.fastapi_fake PORT FOLDER``."""

# No `from __future__ import annotations`: FastAPI reads the annotations when it adds the routes.
# ruff: noqa: I002

import itertools
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import FastAPI, Header, HTTPException, Query
from pydantic import BaseModel


class PetStatus(StrEnum):
    """The status of an animal."""

    AVAILABLE = "available"
    PENDING = "pending"
    SOLD = "sold"


class NewPet(BaseModel):
    """The animal in a request."""

    name: str
    categoryId: int  # noqa: N815  # the interface's own name
    status: PetStatus | None = None


class Pet(NewPet):
    """The animal in a response."""

    id: int


app = FastAPI()
numbers = itertools.count(21)
pets = {pet["id"]: Pet(**pet) for pet in json.loads(Path(sys.argv[2], "listed").read_bytes())}
Key = Annotated[str | None, Header()]


def authenticate(authorization: str | None) -> None:
    """Demand a key."""
    if not (authorization or "").startswith("Bearer "):
        raise HTTPException(401)


@app.get("/v1/pets")
async def list_pets(
    limit: Annotated[int, Query(ge=1, le=100)] = 20, status: PetStatus | None = None, authorization: Key = None
) -> list[Pet]:
    """List animals."""
    authenticate(authorization)
    found = (pet for pet in pets.values() if status is None or pet.status == status)
    return list(itertools.islice(found, limit))


@app.post("/v1/pets", status_code=201)
async def create_pet(new: NewPet, authorization: Key = None) -> Pet:
    """Create an animal."""
    authenticate(authorization)
    pet = Pet(id=next(numbers), **new.model_dump())
    pets[pet.id] = pet
    return pet


@app.get("/v1/pets/{pet_id}")
async def get_pet(pet_id: int, authorization: Key = None) -> Pet:
    """Return one animal."""
    authenticate(authorization)
    if pet_id not in pets:
        raise HTTPException(404)
    return pets[pet_id]


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
