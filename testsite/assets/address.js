// Saves the address. A request that needs approval is made again by the same button.
"use strict";
(() => {
  const form = document.getElementById("address");
  const button = document.getElementById("save-address");
  const result = document.getElementById("result");
  let confirmed = false;
  const say = (text, waiting) => {
    result.textContent = text;
    result.hidden = false;
    result.classList.toggle("waiting", waiting);
  };
  form.addEventListener("input", () => { confirmed = false; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    if (confirmed) fields.confirmed = "yes";
    button.disabled = true;
    try {
      const answer = await fetch("/account/address", {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json" },
        body: JSON.stringify(fields),
      });
      const body = await answer.json();
      if (answer.ok) {
        confirmed = false;
        say(body.message, false);
      } else if (body.error === "approval_required") {
        say("Waiting for approval in your personal agent. Once you have approved it there, press Save address again.", true);
      } else if (body.error === "performing") {
        say("This was approved, and we are carrying it out.", true);
      } else if (body.error === "confirmation_required") {
        confirmed = true;
        say(body.message + " Press Save address again to confirm.", true);
      } else {
        say(body.message || "That didn't work. Please try again.", true);
      }
    } catch {
      say("We couldn't reach the shop. Please press Save address again.", true);
    } finally {
      button.disabled = false;
    }
  });
})();
