package report

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Write writes a run as text for benchstat: `benchstat -col /engine FILE`.
func Write(w io.Writer, run *Run) error {
	out := benchfmt.NewWriter(w)
	for _, s := range run.Samples {
		result := &benchfmt.Result{
			Name:  nameOf(s),
			Iters: 1,
		}
		for _, c := range run.Circumstances {
			result.Config = append(result.Config, benchfmt.Config{Key: c.Key, Value: []byte(c.Value), File: true})
		}
		for _, v := range s.Values {
			result.Values = append(result.Values, benchfmt.Value{Value: v.Number, Unit: v.Unit})
		}
		if err := out.Write(result); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	return nil
}

// nameOf is the benchmark name of a sample.
func nameOf(s Sample) benchfmt.Name {
	name := fmt.Sprintf("%s/engine=%s/parents=%d/children=%d", s.Phase, s.Engine, s.Load.Parents, s.Load.Children)
	if s.Load.Kinds > 0 {
		name += fmt.Sprintf("/kinds=%d", s.Load.Kinds)
	}
	if s.Load.Size > 0 {
		name += fmt.Sprintf("/size=%d", s.Load.Size)
	}
	if s.Load.Patch != "" {
		name += "/patch=" + s.Load.Patch
	}
	return benchfmt.Name(name)
}

// Read reads the output of Write. name is the file name in errors.
func Read(r io.Reader, name string) (*Run, error) {
	run := new(Run)
	reader := benchfmt.NewReader(r, name)
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.Result:
			sample, err := sampleOf(record)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			run.Samples = append(run.Samples, sample)
			if run.Circumstances == nil {
				for _, c := range record.Config {
					run.Circumstances = append(run.Circumstances, Circumstance{Key: c.Key, Value: string(c.Value)})
				}
			}
		case *benchfmt.SyntaxError:
			return nil, fmt.Errorf("read %s: %w", name, record)
		}
	}
	if err := reader.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(run.Samples) == 0 {
		return nil, fmt.Errorf("read %s: it has no results", name)
	}
	return run, nil
}

func sampleOf(result *benchfmt.Result) (Sample, error) {
	base, parts := result.Name.Parts()
	s := Sample{Phase: Phase(base)}
	var errs []error
	for _, part := range parts {
		key, value, _ := strings.Cut(strings.TrimPrefix(string(part), "/"), "=")
		var err error
		switch key {
		case "engine":
			s.Engine = value
		case "parents":
			s.Load.Parents, err = strconv.Atoi(value)
		case "children":
			s.Load.Children, err = strconv.Atoi(value)
		case "kinds":
			s.Load.Kinds, err = strconv.Atoi(value)
		case "patch":
			s.Load.Patch = value
		case "size":
			s.Load.Size, err = strconv.Atoi(value)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil || s.Engine == "" {
		return s, errors.Join(fmt.Errorf("%q is no result of this benchmark", result.Name), err)
	}
	for _, v := range result.Values {
		s.Values = append(s.Values, Value{Unit: v.Unit, Number: v.Value})
	}
	return s, nil
}
