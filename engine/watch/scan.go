package watch

import "strconv"

// text is JSON that is being read.
type text interface{ ~string | ~[]byte }

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10000

// skip returns the index after the value that begins at i, which may have white space before it; -1 where there is no
// valid one.
func skip[T text](s T, i, depth int) int {
	i = skipSpace(s, i)
	if i >= len(s) || depth > maxDepth {
		return -1
	}
	switch c := s[i]; {
	case c == '"':
		return skipString(s, i)
	case c == '{':
		return members(s, i, func(_, _, at int) int { return skip(s, at, depth+1) })
	case c == '[':
		return items(s, i, func(at int) int { return skip(s, at, depth+1) })
	case c == '-' || isDigit(c):
		return skipNumber(s, i)
	case c == 't':
		return skipWord(s, i, "true")
	case c == 'f':
		return skipWord(s, i, "false")
	case c == 'n':
		return skipWord(s, i, "null")
	default:
		return -1
	}
}

// members reads the object that begins at i. For each member it calls read with the bounds of the key, quotes excluded, and
// the index of the value; read returns the index after the value, or -1 to give up. members returns the index after the
// object, or -1.
func members[T text](s T, i int, read func(keyStart, keyEnd, at int) int) int {
	i = skipSpace(s, i+1)
	if i < len(s) && s[i] == '}' {
		return i + 1
	}
	for i < len(s) && s[i] == '"' {
		end := skipString(s, i)
		if end < 0 {
			return -1
		}
		at := skipSpace(s, end)
		if at >= len(s) || s[at] != ':' {
			return -1
		}
		next := read(i+1, end-1, skipSpace(s, at+1))
		if next < 0 {
			return -1
		}
		next = skipSpace(s, next)
		switch {
		case next >= len(s):
			return -1
		case s[next] == '}':
			return next + 1
		case s[next] != ',':
			return -1
		}
		i = skipSpace(s, next+1)
	}
	return -1
}

// items is like members for the list that begins at i.
func items[T text](s T, i int, read func(at int) int) int {
	i = skipSpace(s, i+1)
	if i < len(s) && s[i] == ']' {
		return i + 1
	}
	for i < len(s) {
		next := read(i)
		if next < 0 {
			return -1
		}
		next = skipSpace(s, next)
		switch {
		case next >= len(s):
			return -1
		case s[next] == ']':
			return next + 1
		case s[next] != ',':
			return -1
		}
		i = skipSpace(s, next+1)
	}
	return -1
}

func skipSpace[T text](s T, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string whose opening quote is at i.
func skipString[T text](s T, i int) int {
	for i++; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			if i++; i >= len(s) {
				return -1
			}
			switch s[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i >= len(s) || !isHex(s[i]) {
						return -1
					}
				}
			default:
				return -1
			}
		}
	}
	return -1
}

func skipWord[T text](s T, i int, word string) int {
	if len(s)-i < len(word) || string(s[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func skipNumber[T text](s T, i int) int {
	start := i
	if s[i] == '-' {
		i++
	}
	digits := i
	if i = skipDigits(s, i); i == digits || (s[digits] == '0' && i > digits+1) {
		return -1
	}
	if i < len(s) && s[i] == '.' {
		fraction := i + 1
		if i = skipDigits(s, fraction); i == fraction {
			return -1
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		exponent := i
		if i = skipDigits(s, i); i == exponent {
			return -1
		}
	}
	if _, ok := number(string(s[start:i])); !ok {
		return -1
	}
	return i
}

// number is a number as unstructured objects have it: an int64 where it is written as a whole number and is in range,
// otherwise a float64; false where it is out of range.
func number(s string) (any, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

func skipDigits[T text](s T, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
