package apply

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A generated field (Policy.New) has a value that nobody can make a second time. It must not replace one that somebody else, an
// earlier leader of ours or a person, has put there meanwhile. So it is applied to exactly the version of the object that
// lacks it, and where the object is read again before that, the field is looked at again.

// onlyVersion is the resourceVersion that an apply is for; empty for any.
func (c *Child) onlyVersion(live *unstructured.Unstructured) string {
	if len(c.policy.New) == 0 {
		return ""
	}
	return live.GetResourceVersion()
}

// generatedElsewhere is the error of an object that has a value for a generated field by now. The next evaluation keeps it.
func (c *Child) generatedElsewhere(live *unstructured.Unstructured) error {
	for _, path := range c.policy.New {
		fields := make([]string, len(path))
		for i, step := range path {
			fields[i] = step.Field
		}
		value, found, err := unstructured.NestedFieldNoCopy(live.Object, fields...)
		if err == nil && found && value != nil {
			return &ReplacedError{Ref: RefOf(live), Err: errors.New(path.String() + " has a value now, which is kept")}
		}
	}
	return nil
}
