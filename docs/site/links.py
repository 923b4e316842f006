#!/usr/bin/env python3
"""links.py SITE: ends with 1 and a list if a link in SITE leads to a page or to a place in a page that is not there."""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

site = Path(sys.argv[1]).resolve()


class page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.places |= {of.get("id"), of.get("name")}
        self.links += [of[key] for key in ("href", "src") if of.get(key)]


pages = {path: page(path) for path in site.rglob("*.html") if path.name != "404.html"}
dead, links = [], 0
for path, found in pages.items():
    for link in found.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        links += 1
        target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
        if target.is_dir():
            target /= "index.html"
        place = unquote(parts.fragment)
        if not target.is_relative_to(site) or not target.is_file():
            dead.append(f"{path.relative_to(site)}: {link}: no such page")
        elif place and target in pages and place not in pages[target].places:
            dead.append(f"{path.relative_to(site)}: {link}: no such place")
print("\n".join(dead + [f"links: {len(pages)} pages, {links} links, {len(dead)} dead"]))
sys.exit(1 if dead or not links else 0)
