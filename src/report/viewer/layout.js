// Places boxes in rows: each below all that it uses; linear in the graph but
// for sorting the rows.

const ROW = 74, GAP = 18, HEIGHT = 34;

function layoutGraph(view, widthOf) {
  const {boxes, edges} = view;
  const into = boxes.map(() => []), out = boxes.map(() => []);
  for (const [a, b] of edges) {
    into[b].push(a);
    out[a].push(b);
  }
  // Boxes come in the order of their first nodes. A module's box may stand both
  // before and after another: edges backwards do not count.
  const rank = new Int32Array(boxes.length);
  boxes.forEach((box, i) => { for (const from of into[i]) if (from < i) rank[i] = Math.max(rank[i], rank[from] + 1); });
  // Constants and the like move down to what uses them.
  for (let i = boxes.length - 1; i >= 0; i--) {
    if (into[i].length) continue;
    let least = Infinity;
    for (const to of out[i]) if (to > i) least = Math.min(least, rank[to]);
    if (least !== Infinity) rank[i] = Math.max(rank[i], least - 1);
  }
  const rows = [];
  boxes.forEach((box, i) => (rows[rank[i]] = rows[rank[i]] || []).push(i));
  for (let r = 0; r < rows.length; r++) rows[r] = rows[r] || [];

  const x = new Float64Array(boxes.length);
  const width = boxes.map(widthOf);
  rows.forEach(row => {
    const wish = new Map(row.map(i => {
      const from = into[i].filter(j => rank[j] < rank[i]);
      return [i, from.length ? from.reduce((sum, j) => sum + x[j], 0) / from.length : NaN];
    }));
    let known = 0;
    for (const i of row) {  // one without a wish stays beside the one before it
      if (Number.isNaN(wish.get(i))) wish.set(i, known);
      known = wish.get(i);
    }
    row.sort((a, b) => wish.get(a) - wish.get(b) || a - b);
    placeRow(row, wish, width, x);
  });
  boxes.forEach((box, i) => {
    box.id = i;
    box.x = x[i];
    box.y = rank[i] * ROW;
    box.width = width[i];
    box.into = into[i];
    box.out = out[i];
    box.row = rows[rank[i]];
  });
  return {boxes, edges, rows};
}

// As near to the wishes as the widths allow: boxes that would overlap become a
// group, which lies around the mean of its wishes.
function placeRow(row, wish, width, x) {
  const groups = [];
  for (const i of row) {
    let group = {members: [i], width: width[i] + GAP, sum: wish.get(i), center: wish.get(i)};
    while (groups.length) {
      const last = groups[groups.length - 1];
      if (last.center + last.width / 2 <= group.center - group.width / 2) break;
      groups.pop();
      const members = last.members.concat(group.members);
      group = {members, width: last.width + group.width, sum: last.sum + group.sum, center: (last.sum + group.sum) / members.length};
    }
    groups.push(group);
  }
  for (const group of groups) {
    let left = group.center - group.width / 2;
    for (const i of group.members) {
      x[i] = left + (width[i] + GAP) / 2;
      left += width[i] + GAP;
    }
  }
}
