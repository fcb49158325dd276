"use strict";
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const data = (id) => JSON.parse(document.getElementById(id).textContent);

  // Controls need scripts: without them they stay hidden.
  all(".scripted").forEach((element) => { element.hidden = false; });

  // Tables: each header sorts by its column; unknown values stay at the end.
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!("value" in cell.dataset)) return cell.textContent.trim().toLowerCase();
    return cell.dataset.value === "" ? null : Number(cell.dataset.value);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  const sort = (table, column, sign) => {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => ({ row, key: key(row, column) }));
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return sign * compare(a.key, b.key);
    });
    body.append(...rows.map((entry) => entry.row));
  };
  all("table.sortable").forEach((table) => {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, column, descending ? -1 : 1);
      });
    });
  });

  // Trials: words that all have to occur, and a purpose.
  const words = document.getElementById("trial-words");
  const purpose = document.getElementById("trial-purpose");
  if (words && purpose) {
    const rows = all("#trial-table tbody tr").map((row) => ({ row, text: row.textContent.toLowerCase(), purpose: row.dataset.purpose }));
    const shown = document.getElementById("trial-shown");
    const filter = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let visible = 0;
      rows.forEach((entry) => {
        const fits = (!purpose.value || entry.purpose === purpose.value) && wanted.every((word) => entry.text.includes(word));
        entry.row.hidden = !fits;
        visible += fits ? 1 : 0;
      });
      shown.textContent = visible + " of " + rows.length + " shown";
    };
    words.addEventListener("input", filter);
    purpose.addEventListener("change", filter);
    filter();
  }

  // Copying: the clipboard where the browser lets us, else the selected text.
  const copy = async (element) => {
    try {
      await navigator.clipboard.writeText(element.textContent);
      return "Copied";
    } catch {
      window.getSelection().selectAllChildren(element);
      return "Selected";
    }
  };
  all("button[data-copies]").forEach((button) => {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      button.textContent = await copy(document.getElementById(button.dataset.copies));
      window.setTimeout(() => { button.textContent = label; }, 2000);
    });
  });

  const download = document.getElementById("download");
  if (download) {
    download.addEventListener("click", () => {
      const text = JSON.stringify(data("record"), null, 2) + "\n";
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.download = download.dataset.name || "recommendation.json";
      link.click();
      window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  const theme = document.getElementById("theme");
  if (theme) {
    const root = document.documentElement;
    const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches);
    const tell = () => { theme.textContent = dark() ? "Light" : "Dark"; };
    theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; tell(); });
    tell();
  }

  // Charts: the drawn ones stand in the page; each becomes a live one when it comes near.
  const charts = all(".chart[data-figure]");
  if (charts.length && window.vegaEmbed) {
    const specifications = data("figures");
    const options = { renderer: "svg", actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
    const enliven = async (element) => {
      const specification = { ...specifications[element.dataset.figure], width: "container" };
      const fresh = document.createElement("div");
      fresh.className = "live pending";
      const still = element.querySelector("svg");
      element.append(fresh);
      await window.vegaEmbed(fresh, specification, options);
      still.remove();
      fresh.classList.remove("pending");
      element.dataset.live = "yes";
    };
    const seen = new IntersectionObserver((entries) => {
      entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
        seen.unobserve(entry.target);
        enliven(entry.target);
      });
    }, { rootMargin: "200px" });
    charts.forEach((element) => seen.observe(element));
  }
})();
