"""A question whose answer has none of its words: the words choose other sentences, a scorer the answer.

Two sentences that have words of the question fit into 20 to 26 tokens, or the better of them and the answer beside it.
"""

from __future__ import annotations

QUERY = "May I drink before my examination?"
ANSWER = "Fluids are allowed until two hours ahead."
LEAFLET = (
    "You get a letter that names the room of the examination. Come ten minutes before the examination. "
    f"{ANSWER} Parking is free. The cafeteria closes at six. Towels are in your room."
)
WARDS = [f"The {part} ward is on floor {part}. Lunch is in hall {part}." for part in ("heart", "liver", "knee", "ear")]
