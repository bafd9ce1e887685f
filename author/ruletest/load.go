package ruletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
)

// suffix is the suffix of test files.
const suffix = "_test.yaml"

// IsTestFile reports whether a file is a test file, by its name.
func IsTestFile(path string) bool {
	return strings.HasSuffix(path, suffix) || strings.HasSuffix(path, "_test.yml")
}

// subject is what the cases of a file test: a compiled rule with its inputs.
type subject struct {
	program     *program.Program
	findings    diagnostic.Findings
	kinds       *manifests.Kinds
	definitions definitions.Kinds
	// known are the kinds of the API in memory.
	known  *memory.Kinds
	parent *unstructured.Unstructured
	others []*unstructured.Unstructured
	dir    string
}

// load reads and compiles the subject of a file.
func load(ctx context.Context, f *File, o rules.Options) (*subject, error) {
	s := &subject{dir: filepath.Dir(f.Path)}
	ruleFile := f.Rule
	if ruleFile == "" {
		ruleFile = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.Path), suffix), "_test.yml") + ".yaml"
	}
	files, err := manifests.Read([]string{s.path(ruleFile)}, nil)
	if err != nil {
		return nil, fmt.Errorf("rule: %w", err)
	}
	schemas, err := s.schemas(f.Path, f.Schemas)
	if err != nil {
		return nil, fmt.Errorf("schemas: %w", err)
	}
	if s.kinds, err = manifests.BuiltinKinds(); err != nil {
		return nil, err
	}
	checked, err := manifests.Check(ctx, files, schemas, s.kinds, o)
	if err != nil {
		return nil, err
	}
	s.findings = checked.Findings
	if checked.Findings.HasErrors() {
		return s, nil
	}
	if s.program, err = choose(checked.Programs, f.RuleName, ruleFile); err != nil {
		return nil, err
	}
	if s.definitions, err = definitions.NewKinds(checked.CRDs); err != nil {
		return nil, err
	}
	if s.parent, err = s.readParent(f.Parent); err != nil {
		return nil, err
	}
	if s.others, err = s.readAll(f.Cluster); err != nil {
		return nil, err
	}
	s.known, err = memory.NewKinds(checked.CRDs, s.program, s.objectsOf(f)...)
	return s, err
}

// objectsOf lists the inline objects and the files' objects of all cases, for their kinds.
func (s *subject) objectsOf(f *File) []*unstructured.Unstructured {
	all := slices.Clone(s.others)
	for _, c := range f.Cases {
		given := slices.Clone(c.Cluster)
		for _, step := range c.Steps {
			given = append(given, step.Set...)
		}
		for _, o := range given {
			objects, _ := s.read(o) // the case reports the error
			all = append(all, objects...)
		}
	}
	return all
}

func (s *subject) path(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.dir, file)
}

// schemas reads the files with definitions: those that are named, or all those beside the test file.
func (s *subject) schemas(tests string, named []string) ([]manifests.File, error) {
	if named != nil && len(named) == 0 {
		return nil, nil
	}
	var paths []string
	for _, file := range named {
		paths = append(paths, s.path(file))
	}
	files, err := manifests.SchemasFor([]string{tests}, paths, nil)
	for i := range files {
		files[i].Named = true // so that errors in them are reported: tests need these definitions
	}
	return files, err
}

// choose returns the rule under test.
func choose(programs []*program.Program, name, file string) (*program.Program, error) {
	if name == "" && len(programs) == 1 {
		return programs[0], nil
	}
	var names []string
	for _, program := range programs {
		if program.Name == name {
			return program, nil
		}
		names = append(names, program.Name)
	}
	switch {
	case len(programs) == 0:
		return nil, fmt.Errorf("there is no rule in %s: name the file of the rule with rule", file)
	case name == "":
		return nil, fmt.Errorf("%s has the rules %s: write ruleName to choose one", file, strings.Join(names, ", "))
	}
	slices.Sort(names)
	return nil, fmt.Errorf("there is no rule %s in %s, only %s", name, file, strings.Join(names, ", "))
}

// readParent reads the parent; nil if the file has none.
func (s *subject) readParent(o object) (*unstructured.Unstructured, error) {
	if o.file == "" {
		if o.fields == nil {
			return nil, nil
		}
		return s.asParent(o.fields), nil
	}
	objects, err := s.read(o)
	if err != nil {
		return nil, err
	}
	want := s.program.Parent.GVK
	i := slices.IndexFunc(objects, func(u *unstructured.Unstructured) bool { return s.definitions.Serve(u.DeepCopy(), want) })
	if i < 0 {
		return nil, fmt.Errorf("%s: there is no parent for the rule in %s: name a file with an object of kind %s in %s", o.at, o.file, want.Kind, want.GroupVersion())
	}
	return objects[i], nil
}

// asParent makes an object of the rule's parent kind. Its name may be left out.
func (s *subject) asParent(fields map[string]any) *unstructured.Unstructured {
	parent := &unstructured.Unstructured{Object: fields}
	if want := s.program.Parent.GVK; !s.definitions.Serve(parent.DeepCopy(), want) { // if it can, the object has a version of its own
		parent.SetGroupVersionKind(want)
	}
	if parent.GetName() == "" {
		parent.SetName("test")
	}
	return parent
}

// read returns an inline object, or the objects of a file.
func (s *subject) read(o object) ([]*unstructured.Unstructured, error) {
	if o.file == "" {
		u := &unstructured.Unstructured{Object: o.fields}
		if u.GetAPIVersion() == "" || u.GetKind() == "" || u.GetName() == "" {
			return nil, fmt.Errorf("%s: an object needs apiVersion, kind and metadata.name", o.at)
		}
		return []*unstructured.Unstructured{u}, nil
	}
	files, err := manifests.Read([]string{s.path(o.file)}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.at, err)
	}
	return manifests.Objects(files)
}

// readAll reads objects, and reports duplicates.
func (s *subject) readAll(objects []object) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	var wrong []error
	given := map[identity.ID]bool{}
	for _, o := range objects {
		read, err := s.read(o)
		wrong = append(wrong, err)
		for _, u := range read {
			id := identity.Of(u)
			id.Namespace = cmp.Or(id.Namespace, metav1.NamespaceDefault)
			if given[id] {
				wrong = append(wrong, fmt.Errorf("%s: %s is given twice: leave one of them out", o.at, identity.Of(u)))
			}
			given[id] = true
		}
		all = append(all, read...)
	}
	return all, errors.Join(wrong...)
}
