"use strict";

// Let problems be copied, where the browser allows it: on HTTPS or localhost.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.className = "button";
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = button.dataset.copied;
    });
  }
}
