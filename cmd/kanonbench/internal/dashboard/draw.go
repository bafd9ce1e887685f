package dashboard

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// The dimensions of the picture, in pixels, and of the grid.
const (
	gridWidth   = 24
	unitWidth   = 50
	unitHeight  = 31
	gap         = 10
	headHeight  = 66
	marginLeft  = 72
	marginEnd   = 16
	marginTop   = 46
	marginBelow = 22
	legendLine  = 17
	legendLines = 2
	letterWidth = 6.4 // approximate, in the legend
	colours     = 8
)

// style has the colours, for light and for dark pages.
const style = `<style>
svg { --page: #f4f5f7; --card: #ffffff; --edge: #d9dce1; --text: #1f2328; --soft: #59636e; --grid: #e6e8eb;
  --c0: #1f6feb; --c1: #d1570a; --c2: #1a7f37; --c3: #8250df; --c4: #cf222e; --c5: #0e7c86; --c6: #9a6700; --c7: #bf3989; }
@media (prefers-color-scheme: dark) {
  svg { --page: #0d1117; --card: #161b22; --edge: #30363d; --text: #e6edf3; --soft: #9198a1; --grid: #272d35;
    --c0: #58a6ff; --c1: #ff9b50; --c2: #56d364; --c3: #bc8cff; --c4: #ff7b72; --c5: #56d4dd; --c6: #e3b341; --c7: #ff9bce; }
}
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-size: 12px; fill: var(--text); }
.soft { fill: var(--soft); font-size: 11px; }
.title { font-weight: 600; font-size: 13px; }
.head { font-weight: 600; font-size: 18px; }
.card { fill: var(--card); stroke: var(--edge); }
.grid { stroke: var(--grid); }
.mark { stroke: var(--soft); stroke-dasharray: 2 4; opacity: .7; }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round; }
.area { stroke: none; fill-opacity: .3; }
</style>
`

// Mark is the time when something began.
type Mark struct {
	At    time.Time
	Title string
}

// Options are the settings of a picture.
type Options struct {
	// Subtitle describes the picture.
	Subtitle string
	// Marks are numbered, and drawn in every panel.
	Marks []Mark
}

// picture is the content of an SVG in progress.
type picture struct {
	strings.Builder
	store *Store
	marks []Mark
}

// Draw evaluates all panels and draws them as SVG.
func (b *Board) Draw(ctx context.Context, to io.Writer, store *Store, o Options) error {
	if store.steps() < 2 {
		return fmt.Errorf("there are %d scrapes in %s: too few to draw", store.steps(), store.last.Sub(store.first))
	}
	p := &picture{store: store, marks: o.Marks}
	width, height := gridWidth*unitWidth+gap, 0
	engine := newEngine()
	for _, panel := range b.Panels {
		lines, err := panel.lines(ctx, engine, store)
		if err != nil {
			return err
		}
		p.panel(&panel, lines)
		height = max(height, headHeight+(panel.Grid.Y+panel.Grid.H)*unitHeight+gap)
	}
	if err := engine.Close(); err != nil {
		return fmt.Errorf("end queries: %w", err)
	}
	head := &picture{store: store, marks: o.Marks}
	head.head(b.Title, o.Subtitle)
	_, err := fmt.Fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n%s"+
		"<rect width=\"100%%\" height=\"100%%\" style=\"fill: var(--page)\"/>\n%s%s</svg>\n", width, height, width, height, style, head.String(), p.String())
	if err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return nil
}

// head draws the title, and the meanings of the marks.
func (p *picture) head(title, subtitle string) {
	p.text(gap+4, 26, "start", "head", title)
	p.text(gap+4+11*float64(len(title))+14, 26, "start", "soft", subtitle)
	x := float64(gap + 4)
	for i, mark := range p.marks {
		entry := fmt.Sprintf("%d  %s", i+1, mark.Title)
		p.text(x, 50, "start", "", entry)
		x += letterWidth*float64(len(entry)) + 22
	}
}

// frame is the area for the lines of a panel, and the scale of its y axis.
type frame struct {
	left, top, width, height float64
	steps                    int
	apart, highest           float64
}

func (f frame) x(i float64) float64 { return f.left + f.width*i/float64(f.steps-1) }
func (f frame) y(v float64) float64 { return f.top + f.height*(1-v/f.highest) }

// panel draws a panel with its lines.
func (p *picture) panel(panel *Panel, lines []line) {
	x, y := float64(gap+panel.Grid.X*unitWidth), float64(headHeight+panel.Grid.Y*unitHeight)
	width, height := float64(panel.Grid.W*unitWidth-gap), float64(panel.Grid.H*unitHeight-gap)
	fmt.Fprintf(&p.Builder, "<rect class=\"card\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"4\"/>\n", x, y, width, height)
	p.text(x+12, y+22, "start", "title", panel.Title)
	shown, others := most(lines, colours)
	below := marginBelow + legendLines*legendLine + 8
	f := frame{
		left: x + marginLeft, top: y + marginTop, width: width - marginLeft - marginEnd, height: height - marginTop - float64(below), steps: p.store.steps(),
	}
	if panel.stacked() {
		stack(shown)
	}
	base := 1000.0
	if panel.unit() == "bytes" {
		base = 1024
	}
	f.apart, f.highest = ticksUpTo(highestOf(shown), base)
	if panel.unit() == "short" && f.apart < 1 && whole(shown) {
		f.apart, f.highest = 1, math.Max(1, f.highest)
	}
	p.axes(f, formats[panel.unit()])
	for i, l := range slices.Backward(shown) {
		below := []float64(nil)
		if panel.stacked() && i > 0 {
			below = shown[i-1].values
		}
		p.line(f, i, l.values, below, panel.stacked())
	}
	if len(shown) == 0 {
		p.text(f.left+f.width/2, f.top+f.height/2+4, "middle", "soft", "no data: there was nothing of this")
	}
	p.legend(x+14, y+height-float64(legendLines*legendLine)+4, width-28, shown, others)
}

// axes draws the grid with its units, the times, and the marks.
func (p *picture) axes(f frame, format func(value, apart float64) string) {
	for v := 0.0; v <= f.highest*(1+1e-9); v += f.apart {
		fmt.Fprintf(&p.Builder, "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n", f.left, f.y(v), f.width)
		p.text(f.left-8, f.y(v)+4, "end", "soft", format(v, f.apart))
	}
	for _, at := range timesWithin(p.store.last.Sub(p.store.first)) {
		p.text(f.x(at.Seconds()/step.Seconds()), f.top+f.height+16, "middle", "soft", clock(at))
	}
	for i, mark := range p.marks {
		x := f.x(mark.At.Sub(p.store.first).Seconds() / step.Seconds())
		fmt.Fprintf(&p.Builder, "<path class=\"mark\" d=\"M%.1f %.1fv%.1f\"/>\n", x, f.top-4, f.height+4)
		p.text(x, f.top-8, "middle", "soft", fmt.Sprint(i+1))
	}
}

// line draws a line, and the area under it if lines are stacked. The line is interrupted where values are missing.
func (p *picture) line(f frame, colour int, values, below []float64, filled bool) {
	for from := 0; from < len(values); from++ {
		if math.IsNaN(values[from]) {
			continue
		}
		to := from
		for to < len(values) && !math.IsNaN(values[to]) {
			to++
		}
		var path strings.Builder
		command := "M"
		for i := from; i < to; i++ {
			fmt.Fprintf(&path, "%s%.1f %.1f", command, f.x(float64(i)), f.y(values[i]))
			command = "L"
		}
		if filled {
			var area strings.Builder
			area.WriteString(path.String())
			for i := to - 1; i >= from; i-- {
				bottom := 0.0
				if below != nil && !math.IsNaN(below[i]) {
					bottom = below[i]
				}
				fmt.Fprintf(&area, "L%.1f %.1f", f.x(float64(i)), f.y(bottom))
			}
			fmt.Fprintf(&p.Builder, "<path class=\"area\" style=\"fill: var(--c%d)\" d=\"%sZ\"/>\n", colour, area.String())
		}
		if to == from+1 {
			path.WriteString("h0.1") // a single point, visible by the round ends of the line
		}
		fmt.Fprintf(&p.Builder, "<path class=\"line\" style=\"stroke: var(--c%d)\" d=\"%s\"/>\n", colour, path.String())
		from = to
	}
}

// legend names as many lines as fit.
func (p *picture) legend(left, top, width float64, shown []line, others int) {
	x, y := left, top
	for i, l := range shown {
		room := 18 + letterWidth*float64(len(l.title)) + 14
		if x+room > left+width && x > left {
			if x, y = left, y+legendLine; y >= top+legendLines*legendLine {
				others += len(shown) - i
				p.text(left+width, y-legendLine, "end", "soft", fmt.Sprintf("and %d more", others))
				return
			}
		}
		fmt.Fprintf(&p.Builder, "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"4\" rx=\"2\" style=\"fill: var(--c%d)\"/>\n", x, y-6, i)
		p.text(x+16, y, "start", "", l.title)
		x += room
	}
	if others > 0 {
		p.text(x, y, "start", "soft", fmt.Sprintf("and %d more", others))
	}
}

func (p *picture) text(x, y float64, anchor, class, content string) {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(content)) // a strings.Builder never fails
	if class != "" {
		class = fmt.Sprintf(" class=%q", class)
	}
	fmt.Fprintf(&p.Builder, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, class, escaped.String())
}

// most selects the lines with the highest values, in their order. others is the number of the other lines.
func most(lines []line, limit int) (shown []line, others int) {
	if len(lines) <= limit {
		return slices.Clone(lines), 0
	}
	heights := make([]float64, len(lines))
	for i := range lines {
		heights[i] = highestOf(lines[i : i+1])
	}
	sorted := slices.Sorted(slices.Values(heights))
	least := sorted[len(sorted)-limit]
	for i, l := range lines {
		if heights[i] >= least && len(shown) < limit {
			shown = append(shown, l)
		}
	}
	return shown, len(lines) - len(shown)
}

// stack adds to each line the values of the previous one.
func stack(lines []line) {
	for i := range lines {
		values := slices.Clone(lines[i].values)
		for j := range values {
			if i > 0 && !math.IsNaN(lines[i-1].values[j]) {
				if math.IsNaN(values[j]) {
					values[j] = 0
				}
				values[j] += lines[i-1].values[j]
			}
		}
		lines[i].values = values
	}
}

// highestOf is the highest finite value of some lines, or 0.
func highestOf(lines []line) (highest float64) {
	for _, l := range lines {
		for _, v := range l.values {
			if v > highest && !math.IsInf(v, 0) {
				highest = v
			}
		}
	}
	return highest
}

// whole reports whether all values are integers.
func whole(lines []line) bool {
	for _, l := range lines {
		if slices.ContainsFunc(l.values, func(v float64) bool { return !math.IsNaN(v) && v != math.Trunc(v) }) {
			return false
		}
	}
	return true
}
