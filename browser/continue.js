// Runs in a world of its own. It counts the visible Continue controls of the document, through open shadow roots, and
// remembers the only one under mark, as find.js does. Mark 0 remembers nothing.
(mark) => {
  const name = (el) => (el.getAttribute('aria-label') || (el.tagName === 'INPUT' ? el.value : el.textContent) || '').replace(/\s+/g, ' ').trim();
  const visible = (el) => {
    const box = el.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && el.checkVisibility({opacityProperty: true, visibilityProperty: true}) && !el.disabled;
  };
  const found = [];
  const look = (root) => {
    for (const el of root.querySelectorAll('*')) {
      if (el.matches('button, a[href], input[type=submit], input[type=button], [role=button]') && /^continue$/i.test(name(el)) && visible(el)) found.push(el);
      if (el.shadowRoot) look(el.shadowRoot);
    }
  };
  look(document);
  if (mark && found.length === 1) (globalThis.marked ??= new Map()).set(mark, new WeakRef(found[0]));
  return found.length;
}
