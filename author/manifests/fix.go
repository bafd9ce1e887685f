package manifests

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"kanon.dev/kanon/rules/diagnostic"
)

// Fixed is the result of applying fixes.
type Fixed struct {
	// Files are all files, with the fixes applied.
	Files []File
	// Done are the findings that were fixed, in order.
	Done diagnostic.Findings
	// Left is the result of checking the fixed files.
	Left *Checked
}

// maxChecks bounds how often the files are checked: once for all fixes together, and some more for each fix that makes
// something else wrong.
const maxChecks = 200

// Fix applies the fixes of findings in files, and of the findings that then appear, until there are none. It applies a
// fix only if that leaves fewer findings and none that was not there before. To find those that do not, it applies all,
// then half of them, and so on.
func Fix(files []File, check func([]File) (*Checked, error)) (*Fixed, error) {
	out := &Fixed{Files: slices.Clone(files)}
	var err error
	if out.Left, err = check(out.Files); err != nil {
		return nil, err
	}
	refused := map[string]bool{}
	size := math.MaxInt
	for range maxChecks {
		wanted := slices.DeleteFunc(slices.Clone(out.Left.Findings), func(f diagnostic.Finding) bool { return f.Fix == nil || refused[fixOf(f)] })
		if len(wanted) == 0 {
			break
		}
		size = min(size, len(wanted))
		next, done := apply(out.Files, wanted[:size])
		left, err := check(next)
		switch {
		case err != nil:
			return nil, err
		case len(done) > 0 && isBetter(out.Left.Findings, left.Findings):
			out.Files, out.Left, out.Done = next, left, append(out.Done, done...)
			size = math.MaxInt
		case size == 1:
			refused[fixOf(wanted[0])] = true
			size = math.MaxInt
		default:
			size /= 2
		}
	}
	return out, nil
}

// apply applies the fixes of some findings, and returns the findings that it fixed.
func apply(files []File, findings diagnostic.Findings) (fixed []File, done diagnostic.Findings) {
	fixed = slices.Clone(files)
	for i, file := range fixed {
		var some diagnostic.Findings
		fixed[i].Data, some = of(findings, file).Fixed(file.Data)
		done = append(done, some...)
	}
	return fixed, done
}

// fixOf identifies the fix of a finding while other lines of the file change.
func fixOf(f diagnostic.Finding) string {
	return fmt.Sprintln(f.File, f.Code, f.Message, f.Fix.Title, f.Column)
}

// isBetter reports whether the second findings are fewer, and all among the first. Findings that are only counted may
// be any.
func isBetter(before, after diagnostic.Findings) bool {
	left, total, areCounted := map[string]int{}, 0, false
	for _, f := range before {
		left[f.File+string(f.Code)+f.Message]++
		total += f.Count()
		areCounted = areCounted || f.Count() > 1
	}
	for _, f := range after {
		total -= f.Count()
		key := f.File + string(f.Code) + f.Message
		if left[key]--; left[key] < 0 && !areCounted {
			return false
		}
	}
	return total > 0
}

// Changed lists the files that have changed, and their previous contents.
func (f *Fixed) Changed(before []File) (changed []File, was [][]byte) {
	for i, file := range f.Files {
		if !bytes.Equal(file.Data, before[i].Data) {
			changed, was = append(changed, file), append(was, before[i].Data)
		}
	}
	return changed, was
}

// of lists the findings in a file.
func of(findings diagnostic.Findings, file File) diagnostic.Findings {
	return slices.DeleteFunc(slices.Clone(findings), func(f diagnostic.Finding) bool { return f.File != file.Name })
}
