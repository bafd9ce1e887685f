package shortschema

import "math"

// checkNumbers reports bounds and factors with which the API server refuses every value, or every whole number. The
// bounds of a whole number must be values of the field's format, and the API server uses only the integer part of a
// factor (https://github.com/kubernetes/kube-openapi/blob/master/pkg/validation/validate/values.go).
func (r *Reader) checkNumbers(f *made) (isGood bool) {
	isWhole, isGood := f.schema["type"] == "integer", true
	for _, marker := range []string{"minimum", "maximum", "multipleOf"} {
		value := f.schema[marker]
		if value == nil || !isWhole && marker != "multipleOf" {
			continue
		}
		n, at := asFloat(value), f.marked[marker]
		hasFraction := n != math.Trunc(n)
		switch {
		case hasFraction && isWhole:
			r.reportOnce(at, "%s of a whole number is %v: the API server refuses every value", marker, value).WithHint("write a whole number")
		case hasFraction:
			r.reportOnce(at, "multipleOf is %v, and the API server takes no factor with a fraction: it refuses whole values", value).
				WithHint(`write validation="double(int(self / %v)) == self / %v"`, value, value)
		case f.schema["format"] == "int32" && (n < math.MinInt32 || n > math.MaxInt32):
			r.reportOnce(at, "%s is %.0f, which is no number of 32 bits: the API server refuses every value", marker, n).
				WithHint("leave it out, or write one from %d to %d", math.MinInt32, math.MaxInt32)
		case n < math.MinInt64 || n >= math.MaxInt64: // as a float64, MaxInt64 is rounded up to 1<<63
			r.reportOnce(at, "%s is %.0f, which the API server takes for no number of 64 bits: it refuses every value", marker, n).WithHint("leave it out")
		default:
			continue
		}
		isGood = false
	}
	return isGood
}
