"""A fake as teams write it, on Flask's development server: ``python -m benchmarks.peers.flask_fake PORT FOLDER``."""

from __future__ import annotations

import itertools
import json
import logging
import sys
from pathlib import Path
from typing import Any

from flask import Flask, jsonify, request

app = Flask(__name__)
numbers = itertools.count(21)
pets: dict[int, dict[str, Any]] = {pet["id"]: pet for pet in json.loads(Path(sys.argv[2], "listed").read_bytes())}
STATUSES = ("available", "pending", "sold")


def refusal(status: int, message: str) -> Any:  # noqa: ANN401  # Flask accepts many types of responses
    """Make an error body."""
    return jsonify(code="error", message=message, status=status), status


@app.before_request
def authenticate() -> Any:  # noqa: ANN401
    """Demand a key."""
    if not request.headers.get("Authorization", "").startswith("Bearer "):
        return refusal(401, "the API key is missing")
    return None


@app.get("/v1/pets")
def list_pets() -> Any:  # noqa: ANN401
    """List animals."""
    limit = request.args.get("limit", default=20, type=int)
    if not 1 <= limit <= 100:
        return refusal(400, "limit is out of range")
    return jsonify(list(itertools.islice(pets.values(), limit)))


@app.post("/v1/pets")
def create_pet() -> Any:  # noqa: ANN401
    """Create an animal."""
    sent = request.get_json()
    if not isinstance(sent.get("name"), str) or not isinstance(sent.get("categoryId"), int):
        return refusal(400, "the animal is invalid")
    if sent.get("status", "sold") not in STATUSES:
        return refusal(400, "the status is unknown")
    pet = {"id": next(numbers), **sent}
    pets[pet["id"]] = pet
    return jsonify(pet), 201


@app.get("/v1/pets/<int:pet_id>")
def get_pet(pet_id: int) -> Any:  # noqa: ANN401
    """Return one animal."""
    return jsonify(pets[pet_id]) if pet_id in pets else refusal(404, "no such animal")


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app.run(host="127.0.0.1", port=int(sys.argv[1]))
