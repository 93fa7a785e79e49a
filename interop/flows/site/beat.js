// Reports what the page really got, one small POST for each event, so that two runners can be compared.
(() => {
  let local = 0;
  const next = () => {
    try {
      const n = Number(sessionStorage.getItem('beat') || '0') + 1;
      sessionStorage.setItem('beat', String(n));
      return n;
    } catch { return ++local; }
  };
  const label = (t) => {
    if (!t || t.nodeType !== 1) return t === document ? 'document' : String(t && t.nodeName);
    const own = t.id ? '#' + t.id : t.getAttribute('data-test') ? '[data-test=' + t.getAttribute('data-test') + ']' : t.localName;
    return own;
  };
  const real = (e) => (e.composedPath && e.composedPath()[0]) || e.target;
  const send = (what) => {
    what.n = next(); what.page = location.pathname + location.search;
    try { fetch('/beat', { method: 'POST', keepalive: true, body: JSON.stringify(what) }); } catch { /* page is going away */ }
  };
  window.beat = send;
  const on = (type, more) => window.addEventListener(type, (e) => {
    const t = real(e);
    send({ e: type, on: label(t), trusted: e.isTrusted, ...more(e, t) });
  }, true);
  on('click', (e) => ({ detail: e.detail, pointer: e.pointerType || undefined }));
  on('dblclick', () => ({}));
  on('auxclick', (e) => ({ button: e.button }));
  on('contextmenu', (e) => ({ button: e.button }));
  on('change', (_e, t) => ({ value: t.type === 'checkbox' ? t.checked : t.type === 'password' ? 'len ' + t.value.length : t.value }));
  on('keydown', (e) => ({ key: e.key, mods: [e.shiftKey && 'S', e.ctrlKey && 'C', e.altKey && 'A', e.metaKey && 'M'].filter(Boolean).join('') || undefined }));
  on('submit', () => ({}));
  const late = {};
  for (const type of ['scroll', 'input']) {
    window.addEventListener(type, (e) => {
      const t = real(e); const k = type + label(t);
      clearTimeout(late[k]);
      late[k] = setTimeout(() => send(type === 'scroll'
        ? { e: 'scroll', on: label(t), x: Math.round(t === document ? scrollX : t.scrollLeft), y: Math.round(t === document ? scrollY : t.scrollTop) }
        : { e: 'input', on: label(t), value: t.type === 'password' ? 'len ' + t.value.length : t.value ?? t.textContent }), 30);
    }, true);
  }
})();
