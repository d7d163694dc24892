"use strict";

// Fill the panel once the page is shown, and act without leaving the form unsaved.
{
  const panel = document.querySelector("[data-sitemaps-object]");
  const page = new URL(panel.dataset.sitemapsObject, location.href);
  const part = `${page.href}?part`;

  const load = async (options) => {
    const answer = await fetch(part, { credentials: "same-origin", ...options });
    // A redirect to elsewhere leads to the login.
    if (!answer.ok || new URL(answer.url).pathname !== page.pathname) throw answer;
    panel.innerHTML = await answer.text();
  };

  panel.addEventListener("submit", (event) => {
    event.preventDefault();
    const body = new FormData(event.target, event.submitter);
    load({ method: "POST", body }).catch(() => panel.append(panel.dataset.away));
  });
  load().catch(() => {}); // The link stays.
}
