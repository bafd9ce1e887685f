package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The dimensions of the plot, in pixels.
const (
	plotWidth  = 760
	marginLeft = 190
	marginEnd  = 60
	barHeight  = 12
	barGap     = 3
	groupGap   = 14
	headHeight = 44
	footHeight = 26
)

// longestRatio is where bars are cut off, so that one slow round does not flatten all others.
const longestRatio = 3.0

// bar is one ratio in the plot.
type bar struct {
	title  string
	colour string
	ratio  Spread
}

// WritePlot draws the times of the bare loop and Kanon in each phase, as multiples of the handwritten operator's:
// medians as bars, minimum and maximum as whiskers. It draws each load for which the handwritten operator was measured.
func WritePlot(w io.Writer, run *Run) error {
	var body strings.Builder
	y := 0
	for _, load := range run.Loads() {
		compared := len(run.Numbers(load, New, Operator, Time)) > 0
		if load.Size == 0 && load.Patch == "" && compared { // loads with a size are about memory
			y = drawLoad(&body, run, load, y)
		}
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
%s</svg>
`, plotWidth, y, plotWidth, y, body.String())
	if err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// drawLoad draws one load from y downwards, and returns the y of its end.
func drawLoad(out *strings.Builder, run *Run, load Load, y int) int {
	text(out, 10, y+20, "start", "font-weight=\"bold\"", TitleOf(load))
	legend(out, y+38)
	top := y + headHeight + 6
	y = top
	var marks strings.Builder // drawn over the grid
	for _, r := range rows(load) {
		if r.ratio == nil || r.unit == CPU {
			continue
		}
		bars := barsOf(run, load, r)
		if len(bars) == 0 {
			continue
		}
		height := len(bars)*(barHeight+barGap) - barGap
		text(&marks, marginLeft-8, y+height/2+4, "end", "", r.title)
		for i, b := range bars {
			drawBar(&marks, b, y+i*(barHeight+barGap))
		}
		y += height + groupGap
	}
	bottom := y - groupGap + 6
	for _, ratio := range []float64{0, 0.5, 1, 1.5, 2, 2.5, longestRatio} {
		stroke := `stroke="#ddd"`
		if ratio == 1 {
			stroke = `stroke="#333" stroke-dasharray="4 3"`
		}
		fmt.Fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" %s/>\n", place(ratio), place(ratio), top-4, bottom, stroke)
		text(out, int(place(ratio)), bottom+14, "middle", `fill="#555" font-size="11"`, fmt.Sprintf("%g", ratio))
	}
	out.WriteString(marks.String())
	return bottom + footHeight
}

func barsOf(run *Run, load Load, r row) []bar {
	byHand := run.Numbers(load, r.phase, Operator, r.unit)
	var bars []bar
	for _, b := range []bar{{title: Loop, colour: colourOf(Loop)}, {title: Kanon, colour: colourOf(Kanon)}} {
		ratio, ok := SpreadOf(Ratios(run.Numbers(load, r.phase, b.title, r.unit), byHand))
		if ok {
			b.ratio = ratio
			bars = append(bars, b)
		}
	}
	return bars
}

func drawBar(out *strings.Builder, b bar, y int) {
	end := place(b.ratio.Median)
	fmt.Fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
		marginLeft, y, end-marginLeft, barHeight, b.colour)
	middle := float64(y) + barHeight/2.0
	low, high := place(b.ratio.Min), place(b.ratio.Max)
	fmt.Fprintf(out, "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\" stroke=\"#222\" fill=\"none\"/>\n",
		low, middle, high, low, middle-3, high, middle-3)
	text(out, int(max(end, high))+6, y+barHeight-2, "start",
		`font-size="11" stroke="white" stroke-width="3" paint-order="stroke"`, fmt.Sprintf("%.2f", b.ratio.Median))
}

func legend(out *strings.Builder, y int) {
	x := marginLeft
	for _, entry := range []struct{ engine, title string }{{Kanon, "Kanon"}, {Loop, "bare loop"}} {
		fmt.Fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x, y-9, colourOf(entry.engine))
		text(out, x+15, y, "start", "", entry.title)
		x += 90
	}
	text(out, x, y, "start", `fill="#555"`, "time as a multiple of the operator by hand: less is better")
}

func colourOf(engine string) string {
	if engine == Kanon {
		return "#1f6feb"
	}
	return "#b8bec6"
}

// place is the x position of a ratio.
func place(ratio float64) float64 {
	return marginLeft + min(ratio, longestRatio)/longestRatio*(plotWidth-marginLeft-marginEnd)
}

func text(out *strings.Builder, x, y int, anchor, attributes, content string) {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(content)) // a strings.Builder never fails
	fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" %s>%s</text>\n", x, y, anchor, attributes, escaped.String())
}
