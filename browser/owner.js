// Runs in a world of its own, in the document that a frame is in. It says where a point of the frame's document lies in this
// one, brings it into view when it is not, and whether the frame is what a press there would meet.
(el, x, y, scroll) => {
  if (!el.isConnected) return {gone: true};
  const style = getComputedStyle(el);
  const point = () => {
    const box = el.getBoundingClientRect();
    const across = el.offsetWidth ? box.width / el.offsetWidth : 1, down = el.offsetHeight ? box.height / el.offsetHeight : 1;
    return [box.x + (el.clientLeft + parseFloat(style.paddingLeft) + x) * across, box.y + (el.clientTop + parseFloat(style.paddingTop) + y) * down];
  };
  let [X, Y] = point();
  if (scroll) {
    // Each box that scrolls and that the point is outside of, from the inside.
    for (let n = el.assignedSlot || el.parentNode || el.host; n; n = n.assignedSlot || n.parentNode || n.host) {
      if (n.nodeType !== 1 || (n.scrollHeight <= n.clientHeight && n.scrollWidth <= n.clientWidth)) continue;
      const root = n === document.scrollingElement;
      const box = root ? {x: 0, y: 0, width: innerWidth, height: innerHeight} : n.getBoundingClientRect();
      if (X >= box.x && X <= box.x + box.width && Y >= box.y && Y <= box.y + box.height) continue;
      n.scrollBy({left: X - box.x - box.width / 2, top: Y - box.y - box.height / 2, behavior: 'instant'});
      [X, Y] = point();
    }
  }
  let hit = document.elementFromPoint(X, Y);
  const roots = [];
  for (let root = el.getRootNode(); root.host; root = root.host.getRootNode()) roots.unshift(root);
  for (const root of roots) {
    if (hit !== root.host) break;
    hit = root.elementFromPoint(X, Y) || hit;
  }
  const shown = style.visibility === 'visible' && el.getClientRects().length > 0;
  return {x: X, y: Y, shown, open: hit === el, tag: hit ? hit.tagName.toLowerCase() : ''};
}
