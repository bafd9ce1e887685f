package manifests

import (
	"bytes"
	"slices"

	"kanon.dev/kanon/rules/diagnostic"
)

// Fixed is what came of the fixes of findings.
type Fixed struct {
	// Files are all files, as they are with the fixes.
	Files []File
	// Done are the findings that were fixed, in the order in which they were.
	Done diagnostic.Findings
	// Left is what is found in the files after that.
	Left *Checked
}

// maxRounds is how often files are checked again: what was wrong can hide something else.
const maxRounds = 10

// Fix makes the fixes of all findings in files, and of those that come to light with that, until there are none. A fix after
// which a file is no longer YAML is not made.
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

// Changed lists the files that differ from those before, each with what it was.
func (f *Fixed) Changed(before []File) (changed []File, was [][]byte) {
	for i, file := range f.Files {
		if !bytes.Equal(file.Data, before[i].Data) {
			changed, was = append(changed, file), append(was, before[i].Data)
		}
	}
	return changed, was
}

// of are the findings in a file.
func of(findings diagnostic.Findings, file File) diagnostic.Findings {
	return slices.DeleteFunc(slices.Clone(findings), func(f diagnostic.Finding) bool { return f.File != file.Name })
}

// brokenBy names the files that are no longer YAML.
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
