"""Opens a page in a real browser, prints what became of its requests: ``drive_browser.py BROWSER URL [OPTION...]``."""

from __future__ import annotations

import json
import sys

from playwright.sync_api import sync_playwright

# As root, and where nothing beyond this machine answers.
FLAGS = [
    "--no-sandbox",
    "--no-proxy-server",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def main(browser_path: str, url: str, *options: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=[*FLAGS, *options])
        page = browser.new_page()
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.goto(url)
        page.wait_for_function("window.outcomes !== undefined")
        shown = page.locator("#pets li").all_text_contents()
        told = {"outcomes": page.evaluate("window.outcomes"), "shown": shown, "console": messages}
        sys.stdout.write(json.dumps(told))
        browser.close()


main(*sys.argv[1:])
