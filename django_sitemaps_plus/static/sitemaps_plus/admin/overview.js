"use strict";

// Keep the overview up to date, while somebody looks at it.
{
  const EVERY = 5000;
  const TOKEN = "[name=csrfmiddlewaretoken]";
  const { refresh: url } = document.querySelector("[data-refresh]").dataset;
  const token = document.querySelector(TOKEN)?.value ?? "";
  const updated = document.querySelector("[data-updated]");
  let seen = Date.now();
  let away = false;

  // A part that somebody is using stays: the focus, a menu, a selection.
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
    // What somebody has opened, or closed, stays so.
    for (const { id, open } of part.querySelectorAll("details[id]")) {
      fresh.querySelector(`[id="${id}"]`)?.toggleAttribute("open", open);
    }
    if (part.isEqualNode(fresh)) return true;
    if (isUsed(part)) return false;
    part.replaceWith(fresh);
    return true;
  };

  const tell = () => {
    const seconds = Math.round((Date.now() - seen) / 1000);
    updated.textContent = away
      ? updated.dataset.away
      : updated.dataset.updated.replace("%s", seconds);
    updated.classList.toggle("sitemaps-error", away);
  };

  const refresh = async () => {
    if (document.hidden) return;
    try {
      const signal = AbortSignal.timeout(EVERY);
      const answer = await fetch(url, { credentials: "same-origin", signal });
      // A redirect leads to the login: leave what is there.
      away = !answer.ok || answer.redirected;
      if (away) return;
      const page = document.createElement("template");
      page.innerHTML = await answer.text();
      const parts = [...page.content.querySelectorAll("[data-part]")];
      if (parts.map(update).every(Boolean)) seen = Date.now();
    } catch {
      away = true;
    }
  };

  document.addEventListener("keydown", ({ key }) => {
    const menu = key === "Escape" && document.querySelector(".sitemaps-menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  tell();
  setInterval(tell, 1000);
  setInterval(refresh, EVERY);
  document.addEventListener("visibilitychange", refresh);
}
