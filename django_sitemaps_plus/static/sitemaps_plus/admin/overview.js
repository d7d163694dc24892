"use strict";

// Keep the overview up to date, while somebody looks at it.
{
  const EVERY = 5000;
  const TOKEN = "[name=csrfmiddlewaretoken]";
  const { refresh: url } = document.querySelector("[data-refresh]").dataset;
  const token = document.querySelector(TOKEN)?.value ?? "";
  const updated = document.querySelector("[data-updated]");
  let seen = Date.now();

  // A part that somebody is using stays: a button, a menu, a selection.
  const isUsed = (part) => {
    const selection = document.getSelection();
    return (
      part.contains(document.activeElement) ||
      part.querySelector(".sitemaps-menu[open]") !== null ||
      (!selection.isCollapsed && selection.containsNode(part, true))
    );
  };

  const update = (fresh) => {
    const part = document.querySelector(`[data-part="${fresh.dataset.part}"]`);
    // Each answer has a token of its own, though nothing else may have changed.
    for (const it of fresh.querySelectorAll(TOKEN)) it.setAttribute("value", token);
    if (!part.isEqualNode(fresh) && !isUsed(part)) part.replaceWith(fresh);
  };

  const tell = () => {
    const seconds = Math.round((Date.now() - seen) / 1000);
    const isAway = seconds > (4 * EVERY) / 1000 && !document.hidden;
    updated.textContent = isAway
      ? updated.dataset.away
      : updated.dataset.updated.replace("%s", seconds);
    updated.classList.toggle("sitemaps-error", isAway);
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
      seen = Date.now();
    } catch {
      // The server is away, which tell() says.
    }
  };
  tell();
  setInterval(tell, 1000);
  setInterval(refresh, EVERY);
}
