/**
 * Time to pixels and back. A scale is a row of pieces; a folded piece stands for idle time and keeps a fixed
 * width however long it was, the others share the rest by their length.
 */

/** @typedef {{from: number, to: number, folded: boolean}} Stretch */
/** @typedef {Stretch & {x: number, width: number}} Piece */
/** @typedef {{pieces: Piece[], width: number, x: (ms: number) => number, ms: (x: number) => number}} Scale */

export const FOLD_WIDTH = 26;

/**
 * @param {Stretch[]} stretches in order, touching
 * @param {number} width
 * @param {number} [foldWidth]
 * @returns {Scale}
 */
export function timeScale(stretches, width, foldWidth = FOLD_WIDTH) {
  const folds = stretches.filter((one) => one.folded).length;
  const fold = folds ? Math.min(foldWidth, (width * 0.5) / folds) : 0;
  const open = stretches.reduce((sum, one) => sum + (one.folded ? 0 : one.to - one.from), 0);
  const perMs = open > 0 ? (width - folds * fold) / open : 0;
  let x = 0;
  const pieces = stretches.map((one) => {
    const piece = { ...one, x, width: one.folded ? fold : (one.to - one.from) * perMs };
    x += piece.width;
    return piece;
  });
  return { pieces, width, x: (ms) => xOf(pieces, ms), ms: (at) => msOf(pieces, at) };
}

/** @param {number} from @param {number} to @param {number} width */
export const plainScale = (from, to, width) => timeScale([{ from, to, folded: false }], width);

/**
 * @param {Piece[]} pieces
 * @param {number} ms
 */
function xOf(pieces, ms) {
  if (!pieces.length) return 0;
  const piece = pieces.find((one) => ms < one.to) || pieces[pieces.length - 1];
  const length = piece.to - piece.from;
  const part = length > 0 ? (ms - piece.from) / length : 0;
  return piece.x + part * piece.width;
}

/**
 * @param {Piece[]} pieces
 * @param {number} x
 */
function msOf(pieces, x) {
  if (!pieces.length) return 0;
  const piece = pieces.find((one) => x < one.x + one.width) || pieces[pieces.length - 1];
  const part = piece.width > 0 ? (x - piece.x) / piece.width : 0;
  return piece.from + part * (piece.to - piece.from);
}
