// Adds gift wrap. A request that needs approval waits for it and is then made once more by the page itself.
"use strict";
(() => {
  const form = document.getElementById("gift");
  const button = document.getElementById("add-gift-wrap");
  const result = document.getElementById("result");
  const pause = 1000; // milliseconds between two looks
  const looks = 60;
  let confirmed = false;
  const say = (text, waiting) => {
    result.textContent = text;
    result.hidden = false;
    result.classList.toggle("waiting", waiting);
  };
  const ask = async (fields) => {
    const answer = await fetch("/gift", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(fields),
    });
    return { ok: answer.ok, body: await answer.json() };
  };
  const approved = async (url) => {
    for (let i = 0; i < looks; i++) {
      await new Promise((wake) => setTimeout(wake, pause));
      const { status } = await (await fetch(url, { headers: { Accept: "application/json" } })).json();
      if (status === "approved" || status === "performed") return status;
    }
    return "";
  };
  form.addEventListener("input", () => { confirmed = false; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    if (confirmed) fields.confirmed = "yes";
    button.disabled = true;
    try {
      let { ok, body } = await ask(fields);
      if (body.error === "approval_required" || body.error === "performing") {
        say("Waiting for approval in your personal agent. This page goes on by itself.", true);
        const status = await approved(body.status_url);
        if (status === "performed") {
          say("Gift wrap added.", false);
          return;
        }
        if (status === "") {
          say("Not approved yet. Press Add gift wrap to try again.", true);
          return;
        }
        ({ ok, body } = await ask(fields));
      }
      if (ok) {
        confirmed = false;
        say(body.message, false);
      } else if (body.error === "confirmation_required") {
        confirmed = true;
        say(body.message + " Press Add gift wrap again to confirm.", true);
      } else if (body.error === "performing") {
        say("This was approved, and we are carrying it out.", true);
      } else {
        say(body.message || "This still waits for approval in your personal agent.", true);
      }
    } catch {
      say("We couldn't reach the shop. Please try again.", true);
    } finally {
      button.disabled = false;
    }
  });
})();
