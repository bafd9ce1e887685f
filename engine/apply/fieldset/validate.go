package fieldset

import (
	"errors"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// SchemaMismatchError reports that an object does not fit the schema at hand, which may be outdated.
type SchemaMismatchError struct{ Err error }

func (e *SchemaMismatchError) Error() string { return e.Err.Error() }
func (e *SchemaMismatchError) Unwrap() error { return e.Err }

// Paths validates the object against its schema as an apply does (which also finds duplicate list keys), and returns
// every path in it that managedFields can have.
func (d *Desired) Paths() (*fieldpath.Set, error) {
	value, err := d.kind.Typed(d.Object)
	if err != nil {
		return nil, err
	}
	set, err := value.ToFieldSet()
	if err != nil {
		return nil, mismatch(d.Object, err)
	}
	return set.Difference(IdentityPaths()), nil
}

// Validate returns what in an object does not fit the schema, as a *SchemaMismatchError.
func (k Kind) Validate(obj *unstructured.Unstructured) error {
	_, err := k.Typed(obj)
	return err
}

// Typed returns an object as a typed value. The error names what does not fit; for a Secret it leaves out the value.
func (k Kind) Typed(obj *unstructured.Unstructured) (*typed.TypedValue, error) {
	value, err := k.Converter.ObjectToTyped(obj)
	if err == nil {
		return value, nil
	}
	return nil, mismatch(obj, err)
}

func mismatch(obj *unstructured.Unstructured, err error) error {
	err = OneLine(err)
	if IsSecret(obj) {
		before, _, _ := strings.Cut(err.Error(), ", got ")
		err = errors.New(before)
	}
	return &SchemaMismatchError{Err: err}
}

// IdentityPaths are the paths that the API server never keeps in managedFields (apimachinery,
// pkg/util/managedfields/internal/stripmeta.go). The set is read-only.
//
//nolint:gochecknoglobals // Built once, at first use, and never changed.
var IdentityPaths = sync.OnceValue(func() *fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"),
		fieldpath.MakePathOrDie("metadata"))
	for _, field := range []string{
		"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
		"resourceVersion",
	} {
		set.Insert(fieldpath.MakePathOrDie("metadata", field))
	}
	return set
})

// OneLine turns the library's list of errors, one per line, into one line.
func OneLine(err error) error {
	var list typed.ValidationErrors
	if !errors.As(err, &list) {
		return err
	}
	messages := make([]string, len(list))
	for i, e := range list {
		messages[i] = readable(e.Error())
	}
	return errors.New(strings.Join(messages, "; "))
}

// readable cleans up one of the library's messages: no leading dot, and values without their Go type, as in "expected
// string, got &value.valueUnstructured{Value:true}".
func readable(message string) string {
	message = strings.TrimPrefix(message, ".")
	before, v, ok := strings.Cut(message, "&value.valueUnstructured{Value:")
	if !ok {
		return message
	}
	return before + strings.TrimSuffix(v, "}")
}
