"""A pet store service on FastAPI with its defaults, as a team would write it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Query
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

KEY = "team-secret-key"

app = FastAPI()
bearer = HTTPBearer()


class Status(StrEnum):
    available = "available"
    pending = "pending"
    sold = "sold"


class NewPet(BaseModel):
    name: str
    categoryId: int  # noqa: N815  # the interface's name
    status: Status | None = None


class Pet(NewPet):
    id: int


PETS = {
    number: Pet(id=number, name=f"Žofka {number}", categoryId=1, status=list(Status)[number % 3])
    for number in range(1, 31)
}


def authorize(given: Annotated[HTTPAuthorizationCredentials, Depends(bearer)]) -> None:
    if given.credentials != KEY:
        raise HTTPException(status_code=401, detail="invalid API key")


@app.get("/v1/pets", dependencies=[Depends(authorize)])
def list_pets(limit: Annotated[int, Query(ge=1, le=100)] = 20, status: Status | None = None) -> list[Pet]:
    return [pet for pet in PETS.values() if status is None or pet.status == status][:limit]


@app.post("/v1/pets", status_code=201, dependencies=[Depends(authorize)])
def create_pet(new: NewPet) -> Pet:
    pet = Pet(id=max(PETS, default=0) + 1, **new.model_dump())
    PETS[pet.id] = pet
    return pet


@app.get("/v1/pets/{pet_id}", dependencies=[Depends(authorize)])
def get_pet(pet_id: int) -> Pet:
    if pet_id not in PETS:
        raise HTTPException(status_code=404, detail="no such pet")
    return PETS[pet_id]
