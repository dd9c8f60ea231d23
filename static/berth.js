/* Colour scheme, and what htmx needs to be told. Loaded in the head, so that no page flashes. */
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const key = "berth-theme";

  const chosen = () => {
    try { return localStorage.getItem(key); } catch { return null; }
  };
  const show = () => {
    root.dataset.bsTheme = chosen() ?? (dark.matches ? "dark" : "light");
  };
  show();
  dark.addEventListener("change", show);
  // Another tab chose.
  addEventListener("storage", show);

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    const next = root.dataset.bsTheme === "dark" ? "light" : "dark";
    try {
      // Back to what the system says is no choice of one's own.
      if (next === (dark.matches ? "dark" : "light")) localStorage.removeItem(key);
      else localStorage.setItem(key, next);
    } catch { /* storage is off: it lasts for this page */ }
    root.dataset.bsTheme = next;
  });

  // A menu closes as soon as somebody looks elsewhere.
  const close = (keep) => {
    for (const menu of document.querySelectorAll(".menu[open]")) if (menu !== keep) menu.open = false;
  };
  document.addEventListener("click", (event) => close(event.target.closest(".menu")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });

  // Signed in again elsewhere: the next answer that comes through takes the notice away.
  document.addEventListener("htmx:after:request", (event) => {
    const notice = document.getElementById("session-notice");
    if (event.detail?.ctx?.response?.status < 400 && notice?.firstElementChild) notice.replaceChildren();
  });

  // A form that is on its way is not sent twice.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "true";
  });
  addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });
})();
