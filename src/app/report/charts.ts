import * as Plot from '@observablehq/plot';
import domino from '@mixmark-io/domino';
import type { DayState } from '../../engine/run/day-states.js';
import { truncateToWidth } from '../../core/text/width.js';
import { html, Html } from './html.js';
import { printableLines } from '../../core/printable.js';

/** The members of a drawn element that are used here. */
interface DrawnElement {
  readonly outerHTML: string;
  readonly attributes: ArrayLike<{ readonly name: string; readonly value: string }>;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  remove(): void;
  querySelectorAll(selector: string): ArrayLike<unknown>;
}

/**
 * A chart as SVG for a page with a strict content security policy: no style of its own, coordinates to a hundredth, one
 * label for the whole chart.
 */
function svgOf(chart: unknown, label: string, layout: ChartWidth): Html {
  if (!isDrawnElement(chart)) throw new TypeError('expected the chart library to draw an element');
  for (const style of Array.from(chart.querySelectorAll('style'))) if (isDrawnElement(style)) style.remove();
  for (const element of [chart, ...Array.from(chart.querySelectorAll('*'))]) {
    if (!isDrawnElement(element)) continue;
    for (const { name, value } of Array.from(element.attributes)) {
      if (dropped.has(name)) element.removeAttribute(name);
      else if (coordinates.has(name)) element.setAttribute(name, value.replaceAll(/\.(\d\d)\d+/g, '.$1'));
    }
  }
  chart.setAttribute('class', `chart ${layout}`);
  chart.setAttribute('role', 'img');
  chart.setAttribute('aria-label', label);
  // Ids and names may contain control characters: their escapes are valid in attributes and in elements.
  return new Html(printableLines(chart.outerHTML));
}

const coordinates = new Set(['x', 'y', 'x1', 'x2', 'y1', 'y2', 'width', 'height', 'd', 'transform', 'cx', 'cy']);
/** Attributes that the page's style sheet replaces, once for all charts. */
const dropped = new Set(['style', 'aria-label', 'aria-hidden', 'font-family', 'font-variant', 'xmlns', 'xmlns:xlink']);

function isDrawnElement(value: unknown): value is DrawnElement {
  return typeof value === 'object' && value !== null && 'outerHTML' in value && 'setAttribute' in value;
}

/** A mark of a month. `value` determines its size; `title` has the exact figure. */
interface MonthMark {
  readonly month: string;
  readonly value: number;
  readonly title: string;
}

interface StackedBar extends MonthMark {
  readonly series: string;
}

/** A bar from one value to another, with its figure next to it. */
export interface Step {
  readonly label: string;
  readonly series: string;
  readonly from: number;
  readonly to: number;
  readonly figure: string;
  readonly title: string;
}

interface CalendarDay {
  /** `2025-03`. */
  readonly month: string;
  readonly day: number;
  readonly state: DayState;
}

/** An axis without a label and without ticks. */
const bare = { label: null, tickSize: 0 } as const;

const ink = 'currentColor';
const page = 'var(--page)';
const widths = { wide: 880, narrow: 330 } as const;
type ChartWidth = keyof typeof widths;

/** The document in which the chart library draws, and the width of the chart in pixels. */
function canvas(layout: ChartWidth) {
  return { document: domino.createDocument('<!doctype html>'), width: widths[layout] };
}

/** A chart in both layouts, of which the page shows the one that fits. `label`: its text for screen readers. */
function inBothLayouts(label: string, draw: (layout: ChartWidth) => unknown): Html {
  const drawing = (layout: ChartWidth) => svgOf(draw(layout), label, layout);
  return html`${drawing('wide')}${drawing('narrow')}`;
}

/** Stacked bars with a mark for their sum: months side by side, or one below the other in the narrow chart. */
export function stackedChart(
  label: string,
  months: readonly string[],
  bars: readonly StackedBar[],
  nets: readonly MonthMark[],
): Html {
  const style = { fill: ({ series }: StackedBar) => colorOf(series), title: 'title', insetTop: 0.5, insetBottom: 0.5 };
  const mark = { symbol: 'diamond', r: 5, fill: ink, stroke: page, strokeWidth: 1.5, title: 'title' } as const;
  const values = { ...bare, grid: true, tickFormat: (value: number) => compactNumber.format(value) };
  return inBothLayouts(label, (layout) => {
    if (layout === 'narrow') {
      return Plot.plot({
        ...canvas(layout),
        height: 56 + months.length * 26,
        marginLeft: 60,
        marginTop: 8,
        x: { ...values, ticks: 4 },
        y: { ...bare, type: 'band', domain: months, padding: 0.25 },
        marks: [
          Plot.barX(bars, Plot.stackX({ x: 'value', y: 'month', ...style })),
          Plot.ruleX([0]),
          Plot.dot(nets, { x: 'value', y: 'month', ...mark }),
        ],
      });
    }
    // Few months get more padding, so that a single bar isn't as wide as the page.
    const padding = months.length < 4 ? 0.6 : 0.25;
    return Plot.plot({
      ...canvas(layout),
      height: 320,
      marginLeft: 60,
      marginRight: 4,
      x: { ...bare, type: 'band', domain: months, ticks: evenlySpaced(months, 12), padding },
      y: { ...values, ticks: 6 },
      marks: [
        Plot.barY(bars, Plot.stackY({ x: 'month', y: 'value', ...style })),
        Plot.ruleY([0]),
        Plot.dot(nets, { x: 'month', y: 'value', ...mark }),
      ],
    });
  });
}

/** Bars below each other with their figures, each starting where the previous one ends. */
export function stepsChart(label: string, steps: readonly Step[]): Html {
  const ends = steps.flatMap(({ from, to }) => [from, to]);
  const least = Math.min(0, ...ends);
  const most = Math.max(0, ...ends);
  return inBothLayouts(label, (layout) => {
    const letters = layout === 'wide' ? 25 : 14;
    return Plot.plot({
      ...canvas(layout),
      height: 16 + steps.length * 26,
      marginLeft: layout === 'wide' ? 200 : 126,
      marginRight: layout === 'wide' ? 130 : 84,
      marginTop: 4,
      marginBottom: 8,
      x: { axis: null, domain: [least, most] },
      y: {
        ...bare,
        type: 'band',
        domain: steps.map((_, at) => at),
        tickFormat: (at: number) => truncateToWidth(steps[at]?.label ?? '', letters),
        padding: 0.3,
      },
      marks: [
        Plot.barX(steps, {
          x1: 'from',
          x2: 'to',
          y: (_: Step, at: number) => at,
          fill: ({ series }: Step) => colorOf(series),
          title: 'title',
        }),
        Plot.ruleX([0]),
        Plot.text(steps, {
          text: 'figure',
          y: (_: Step, at: number) => at,
          frameAnchor: 'right',
          textAnchor: 'end',
          dx: layout === 'wide' ? 126 : 82,
        }),
      ],
    });
  });
}

/** A line of a rate by month, in per cent. */
export function rateChart(label: string, points: readonly MonthMark[]): Html {
  const months = points.map(({ month }) => month);
  return inBothLayouts(label, (layout) =>
    Plot.plot({
      ...canvas(layout),
      height: layout === 'wide' ? 200 : 180,
      marginLeft: 44,
      marginRight: 12,
      x: { ...bare, type: 'point', domain: months, ticks: evenlySpaced(months, layout === 'wide' ? 12 : 4) },
      y: { ...bare, grid: true, zero: true, ticks: 4, tickFormat: (value: number) => `${value} %` },
      marks: [
        Plot.ruleY([0]),
        Plot.lineY(points, { x: 'month', y: 'value', stroke: colorOf('refunds'), strokeWidth: 2 }),
        Plot.dot(points, { x: 'month', y: 'value', fill: colorOf('refunds'), r: 4, title: 'title' }),
      ],
    }),
  );
}

/** Signs by which the states of a day differ without colour. */
export const daySigns: Readonly<Record<DayState, string>> = {
  full: '',
  empty: '·',
  forgotten: 'f',
  partial: '½',
  imported: 'i',
  missing: '×',
};

/** A calendar with a row for each month and a cell for each day. */
export function calendarChart(label: string, days: readonly CalendarDay[]): Html {
  const months = [...new Set(days.map(({ month }) => month))];
  return inBothLayouts(label, (layout) =>
    Plot.plot({
      ...canvas(layout),
      width: layout === 'wide' ? 720 : widths.narrow,
      height: 24 + months.length * (layout === 'wide' ? 22 : 16),
      marginLeft: 60,
      marginTop: 20,
      marginBottom: 4,
      marginRight: 2,
      x: {
        ...bare,
        type: 'band',
        domain: Array.from({ length: 31 }, (_, at) => at + 1),
        ticks: [1, 5, 10, 15, 20, 25, 30],
        axis: 'top',
        padding: 0.12,
      },
      y: { ...bare, type: 'band', domain: months, padding: 0.12 },
      marks: [
        ...(Object.keys(daySigns) as DayState[]).map((state) =>
          Plot.cell(
            days.filter((day) => day.state === state),
            { x: 'day', y: 'month', fill: `var(--day-${state})`, stroke: `var(--day-${state}-edge)` },
          ),
        ),
        Plot.text(
          days.filter(({ state }) => daySigns[state] !== ''),
          { x: 'day', y: 'month', text: ({ state }: CalendarDay) => daySigns[state], fontWeight: 600 },
        ),
      ],
    }),
  );
}

function colorOf(series: string): string {
  return `var(--${series})`;
}

/** At most `most` of the months, evenly spaced. */
function evenlySpaced(months: readonly string[], most: number): readonly string[] {
  const every = Math.ceil(months.length / most);
  return months.filter((_, at) => at % every === 0);
}

const compactNumber = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 });
