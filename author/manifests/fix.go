package manifests

import (
	"bytes"
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

// maxRounds is the maximum number of checks. They are repeated because one error can hide another.
const maxRounds = 10

// Fix applies the fixes of all findings in files, and of the findings that then appear, until there are none. A fix
// that would make a file invalid YAML is skipped, with the other fixes of that file.
func Fix(files []File, check func([]File) (*Checked, error)) (*Fixed, error) {
	out := &Fixed{Files: slices.Clone(files)}
	var err error
	if out.Left, err = check(out.Files); err != nil {
		return nil, err
	}
	broken := map[string]bool{}
	for range maxRounds {
		next := slices.Clone(out.Files)
		var done diagnostic.Findings
		for i, file := range next {
			if broken[file.Name] {
				continue
			}
			var fixed diagnostic.Findings
			next[i].Data, fixed = of(out.Left.Findings, file).Fixed(file.Data)
			done = append(done, fixed...)
		}
		if len(done) == 0 {
			return out, nil
		}
		left, err := check(next)
		if err != nil {
			return nil, err
		}
		if worse := brokenBy(out.Left.Findings, left.Findings); len(worse) > 0 {
			for _, name := range worse {
				broken[name] = true
			}
			continue
		}
		out.Files, out.Left, out.Done = next, left, append(out.Done, done...)
	}
	return out, nil
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

// brokenBy lists the files that are no longer YAML.
func brokenBy(before, after diagnostic.Findings) []string {
	var files []string
	for _, f := range after {
		isNew := f.Code == diagnostic.CodeNotYAML && !slices.ContainsFunc(before, func(o diagnostic.Finding) bool {
			return o.Code == diagnostic.CodeNotYAML && o.File == f.File
		})
		if isNew && !slices.Contains(files, f.File) {
			files = append(files, f.File)
		}
	}
	return files
}
