"""What of a model's name may be shown: all but what logs in to it."""

import re

# several URLs may follow each other with commas; a model's id stands after #
_SCHEME = r"[a-z][a-z0-9+.-]*://"
_URL = re.compile(rf"({_SCHEME})((?:(?!,{_SCHEME})[^\s#'\"])*)", re.IGNORECASE)


def public(text: str) -> str:
    """Return a name, or a text with names in it, without userinfo and query of URLs.

    >>> public("https://me:key@host.example/v1?key=k#org/m@1")
    'https://host.example/v1#org/m@1'
    >>> public("bench --model http://u:k@a/v1,http://u:k@b/v1#m")
    'bench --model http://a/v1,http://b/v1#m'
    """
    return _URL.sub(lambda url: url[1] + _place(url[2]), text)


def _place(rest: str) -> str:
    return rest.rpartition("@")[2].partition("?")[0]
