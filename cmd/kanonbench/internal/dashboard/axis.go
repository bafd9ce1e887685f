package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// formats has a formatter for the values of each Grafana unit on an axis. apart is the distance between ticks.
var formats = map[string]func(value, apart float64) string{ //nolint:gochecknoglobals // a constant
	"short": func(value, apart float64) string { return scaled(value, apart, 1000, "", "k", "M", "G") },
	"reqps": func(value, apart float64) string { return scaled(value, apart, 1000, "", "k", "M", "G") + "/s" },
	"bytes": func(value, apart float64) string { return scaled(value, apart, 1024, " B", " KiB", " MiB", " GiB") },
	"s":     seconds,
}

// scaled formats a number with the largest suffix for which it is at least 1.
func scaled(value, apart, base float64, suffixes ...string) string {
	i := 0
	for ; math.Abs(value) >= base && i < len(suffixes)-1; i++ {
		value, apart = value/base, apart/base
	}
	return decimal(value, apart) + suffixes[i]
}

// seconds formats a duration.
func seconds(value, apart float64) string {
	switch {
	case value == 0:
		return "0 s"
	case value < 1e-3:
		return decimal(value*1e6, apart*1e6) + " µs"
	case value < 1:
		return decimal(value*1e3, apart*1e3) + " ms"
	}
	return decimal(value, apart) + " s"
}

// decimal formats a number with enough digits to distinguish ticks.
func decimal(value, apart float64) string {
	digits := 0
	for ; digits < 3 && math.Abs(apart-math.Round(apart)) > 1e-6*apart; digits++ {
		apart *= 10
	}
	return strconv.FormatFloat(value, 'f', digits, 64)
}

// ticksUpTo chooses at most five ticks from 0: their distance, and the last one, which is at least the highest value.
func ticksUpTo(highest, base float64) (apart, last float64) {
	if highest <= 0 || math.IsNaN(highest) || math.IsInf(highest, 0) {
		highest = 1
	}
	scale := 1.0
	for base > 1000 && highest/scale >= base {
		scale *= base
	}
	rough := highest / scale / 4
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, nice := range []float64{1, 2, 2.5, 5, 10} {
		if apart = nice * power; apart >= rough*(1-1e-9) {
			break
		}
	}
	apart *= scale
	return apart, apart * math.Ceil(highest/apart-1e-9)
}

// timesWithin lists the ticks of the x axis: about six, at round fractions of a minute.
func timesWithin(span time.Duration) []time.Duration {
	apart := 10 * time.Minute
	for _, nice := range []time.Duration{time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute} {
		if span/nice <= 8 {
			apart = nice
			break
		}
	}
	var ticks []time.Duration
	for at := time.Duration(0); at <= span; at += apart {
		ticks = append(ticks, at)
	}
	return ticks
}

// clock formats a time since the start.
func clock(at time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(at.Minutes()), int(at.Seconds())%60)
}
