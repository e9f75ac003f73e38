#!/usr/bin/env python3
"""usage: browser.py SITE AXE.js FOLDER

Checks the site that `make docs` has generated in SITE, in headless Chromium: one page of each
template, at the widths of a telephone and of a desktop, in light and dark colours. No page may
scroll horizontally, log an error, request anything from another host, or violate a rule of axe that
is serious or critical. The search must find what people look for. Screenshots go to FOLDER.
"""

import functools
import http.server
import pathlib
import re
import shutil
import sys
import threading

from playwright.sync_api import sync_playwright

PAGES = {
    "home": "index.html",
    "guide": "docs/commits.html",
    "tables": "docs/formats.html",
    "pictures": "docs/choosing.html",
    "c-overview": "reference/c/index.html",
    "c": "reference/c/array.html",
    "c-constants": "reference/c/options.html",
    "c-function": "reference/c/bag_index.html#holdall_bag_index_find_first",
    "c++": "reference/cxx.html",
    "python": "reference/python.html",
    "go": "reference/go.html",
    "fortran": "reference/fortran.html",
    "julia": "reference/julia.html",
    "tool": "reference/tool/holdall-cat.html",
    "changelog": "CHANGELOG.html",
    "benchmarks": "BENCHMARKS.html",
    "not-found": "404.html",
}
WIDTHS = {360: 740, 1280: 900}
# What people search for, and a part of the address of a result among the first ten.
SEARCHED = {
    "holdall_bag_open": "bag.html#holdall_bag_open",
    "bag_open": "bag.html#holdall_bag_open",
    "array read": "array.html#holdall_array_read",
    "HOLDALL_E_RANGE": "base.html#HOLDALL_E_RANGE",
    "skip_damaged": "options.html#HOLDALL_OPT_SKIP_DAMAGED",
    "thread safety": "docs/threads.html",
    "fork": "docs/threads.html",
    "lookup": "bag_index",
    "transaction": "docs/commits.html",
    "rollback": "docs/commits.html",
    "delete rows": "table.html#holdall_table_truncate",
    "iterate": "bag_stream",
    "mmap": "HOLDALL_IO_MAP",
    "pandas": "docs/languages.html",
    "hyperslab": "array.html#holdall_array_read",
    "column by name": "table.html#holdall_table_find_column",
    "versus zarr": "docs/compared.html",
    "durable": "docs/commits.html",
    "install": "docs/first-program.html",
}
AXE = """async () => (await axe.run()).violations
    .filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id} (${one.impact}): ` + one.nodes.map(node => node.target + ": "
        + node.failureSummary.replaceAll("\\n", " ")).slice(0, 3).join("; "))"""


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    handler = functools.partial(Handler, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


class Check:
    def __init__(self, browser, address, axe, folder):
        self.browser, self.address, self.axe, self.folder = browser, address, axe, folder
        self.faults = []

    def page(self, width, colours):
        """Opens a window that notes errors and requests to other hosts."""
        page = self.browser.new_page(
            viewport={"width": width, "height": WIDTHS[width]}, color_scheme=colours
        )

        def requested(request):
            if not request.url.startswith((self.address, "data:", "blob:", "file:")):
                self.faults.append(f"{page.url}: requests {request.url}")

        page.on("console", lambda line: line.type == "error" and self.fault(page, line.text))
        page.on("pageerror", lambda error: self.fault(page, error))
        page.on("request", requested)
        return page

    def fault(self, page, text):
        self.faults.append(f"{page.url} at {page.viewport_size['width']} pixels: {text}")

    def templates(self):
        for width in WIDTHS:
            for colours in "light", "dark":
                page = self.page(width, colours)
                for name, path in PAGES.items():
                    page.goto(self.address + path)
                    page.wait_for_load_state("networkidle")
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    if wide > width:
                        self.fault(page, f"is {wide} pixels wide")
                    page.screenshot(path=self.folder / f"{name}-{width}-{colours}.png")
                    page.add_script_tag(path=self.axe)
                    for violation in page.evaluate(AXE):
                        self.fault(page, f"{colours}: {violation}")
                page.close()

    def search(self, address):
        """Types each query into the search of the start page at this address."""
        page = self.page(1280, "light")
        page.goto(address + "index.html")
        page.locator(".md-search__input").click()
        page.wait_for_function(
            "document.querySelector('[data-md-component=search-result]')"
            ".innerText != 'Initializing search'"
        )
        for query, expected in SEARCHED.items():
            page.locator(".md-search__input").fill("")
            page.locator(".md-search__input").press_sequentially(query)
            page.wait_for_timeout(400)
            links = page.locator("a.md-search-result__link")
            found = [re.sub(r"[?][^#]*", "", link.get_attribute("href")) for link in links.all()]
            if not any(expected in one for one in found[:10]):
                shown = ", ".join(one.rpartition("/")[2] for one in found[:5]) or "nothing"
                self.fault(page, f"the search for {query!r} finds {shown}; expected {expected}")
        name = address.partition(":")[0]
        page.screenshot(path=self.folder / f"search-{name}.png")
        page.close()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.split("\n\n")[0])
    site, axe, folder = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    address = serve(site)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        check = Check(browser, address, axe, folder)
        check.search(address)
        check.search(f"{site.as_uri()}/")
        check.templates()
        browser.close()
    for fault in check.faults:
        print(fault, file=sys.stderr)
    if check.faults:
        sys.exit(f"browser.py: {len(check.faults)} faults")
    print(f"ok    {len(PAGES)} pages in {2 * len(WIDTHS)} windows, {len(SEARCHED)} searches")


if __name__ == "__main__":
    main()
