"use strict";

// Keep the part that moves up to date, while somebody looks at it.
{
  const EVERY = 5000;
  const part = document.querySelector("[data-refresh]");

  const refresh = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(part.dataset.refresh, { credentials: "same-origin" });
      // A redirect leads to the login: leave what is there.
      if (answer.ok && !answer.redirected) part.innerHTML = await answer.text();
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
