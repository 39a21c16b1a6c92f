"""No key of a URL is ever shown, however many URLs a name holds."""

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from evaluand.chat.public import public

KEY = "hunter2SECRET"


@given(
    prefix=st.text("ab:@/?%,", max_size=6),
    count=st.integers(1, 3),
    inside=st.sampled_from(["", "x/", "?", ",", "a@"]),
    before=st.sampled_from(["", "bench --model ", "'", "openai/x "]),
)
def test_no_userinfo_and_no_query_survive(
    prefix: str, count: int, inside: str, before: str
) -> None:
    """Userinfo goes, quoted or not, in each of several URLs, and so does a query."""
    urls = [
        f"http://{quote(prefix)}:{inside}{KEY}@h{n}:8{n}/v1?key={KEY}"
        for n in range(count)
    ]
    shown = public(f"{before}{','.join(urls)}#org/m@{count}")
    assert KEY not in shown
    assert shown.endswith(f"#org/m@{count}")
    assert all(f"h{n}:8{n}/v1" in shown for n in range(count))


@given(st.text("abcz01:/#@.-_ ", max_size=30))
def test_what_is_no_url_stays(text: str) -> None:
    """Names of local, scripted and provider models are shown as they are."""
    plain = text.replace("://", "")
    assert public(plain) == plain
