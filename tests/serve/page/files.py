"""Files to drop on the page."""

from tests.serve.page.acts import text_of

DROP = """([selector, name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, { type: "text/plain", lastModified: 1700000000000 }));
  const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  document.querySelector(selector).dispatchEvent(event);
}"""


def table(n):
    rows = ["id;message;links;zip;label"]
    for k in range(n):
        label = ("ham", "spam")[k % 2]
        rows.append(f'{k};"{text_of(label, k)}; said ""she""\nand left";{k % 2}.5;00{k % 7};{label}')
    return "\n".join(rows) + "\n"


def drop(page, name, text):
    page.wait_for_selector(".drop")
    page.evaluate(DROP, [".drop", name, text])
    page.get_by_role("button", name="Create and learn").wait_for()
