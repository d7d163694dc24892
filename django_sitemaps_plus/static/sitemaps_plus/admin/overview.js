"use strict";

// Keep what moves up to date, while somebody looks at it.
{
  const EVERY = 5000;
  const TOKEN = "[name=csrfmiddlewaretoken]";
  const { refresh: url } = document.querySelector("[data-refresh]").dataset;
  const token = document.querySelector(TOKEN)?.value ?? "";

  const update = (fresh) => {
    const part = document.querySelector(`[data-part="${fresh.dataset.part}"]`);
    // Each answer has a token of its own, though nothing else may have changed.
    for (const it of fresh.querySelectorAll(TOKEN)) it.setAttribute("value", token);
    // A button that somebody is about to press stays.
    if (part.contains(document.activeElement) || part.isEqualNode(fresh)) return;
    part.replaceWith(fresh);
  };

  const refresh = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(url, { credentials: "same-origin" });
      // A redirect leads to the login: leave what is there.
      if (!answer.ok || answer.redirected) return;
      const page = document.createElement("template");
      page.innerHTML = await answer.text();
      for (const it of page.content.querySelectorAll("[data-part]")) update(it);
    } catch {
      // The server is away: the next time will do.
    }
  };
  setInterval(refresh, EVERY);

  const workers = document.querySelector("[data-workers]");
  fetch(workers.dataset.workers, { credentials: "same-origin" })
    .then((answer) => answer.json())
    .then(({ ok, words }) => {
      workers.textContent = words.join(" ");
      workers.classList.add(ok ? "sitemaps-ok" : "sitemaps-error");
    })
    .catch(() => {}); // The link stays.
}
