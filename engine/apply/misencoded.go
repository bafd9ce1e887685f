package apply

import (
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// notBase64 lists the fields of a Secret's data that are not base64, sorted. The API server says of one that it cannot read it,
// and quotes a part of it, and does not say which field it is.
func notBase64(obj *unstructured.Unstructured) []string {
	if !isSecret(obj) {
		return nil
	}
	data, _ := obj.Object["data"].(map[string]any)
	var fields []string
	for name, value := range data {
		text, isText := value.(string)
		if _, err := base64.StdEncoding.DecodeString(text); err != nil || !isText && value != nil {
			fields = append(fields, "data."+name)
		}
	}
	slices.Sort(fields)
	return fields
}
