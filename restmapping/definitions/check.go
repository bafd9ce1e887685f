package definitions

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Problem is a reason why the API server refuses a definition.
type Problem struct {
	// Path leads to the problem: names of fields, keys of maps, and indices of lists, from 0. For a missing field, it
	// ends at the last existing value.
	Path []string
	// Name is true if the last name of the path is wrong, rather than its value.
	Name bool
	// Offset is the offset of the problem, in bytes, in an expression at Path.
	Offset int
	// Message begins with the path in the API server's form.
	Message string
}

// Check returns why the API server would refuse to create a CustomResourceDefinition; nil if it would not. ctx only
// reaches the API server's own code. The object is not changed.
func Check(ctx context.Context, crd *unstructured.Unstructured) []Problem {
	if apiVersion := crd.GetAPIVersion(); apiVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return []Problem{{Path: []string{"apiVersion"}, Message: fmt.Sprintf(
			"apiVersion: the API server has CustomResourceDefinitions in %s only", apiextensionsv1.SchemeGroupVersion)}}
	}
	decoded, problems, ok := decode(crd.Object)
	if !ok {
		return problems
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(decoded)
	created := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(decoded, created, nil); err != nil {
		return append(problems, Problem{Message: err.Error()})
	}
	prepare(created)
	for _, err := range validation.ValidateCustomResourceDefinition(ctx, created) {
		if !strings.HasPrefix(err.Field, "status") { // we set the status, in prepare
			problems = append(problems, problemOf(crd.Object, err))
		}
	}
	return problems
}

// prepare does what the API server does between decoding and validation, in PrepareForCreate of
// k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition.
func prepare(crd *apiextensions.CustomResourceDefinition) {
	crd.Status = apiextensions.CustomResourceDefinitionStatus{}
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			crd.Status.StoredVersions = []string{version.Name}
			return
		}
	}
}

func problemOf(object map[string]any, err *field.Error) Problem {
	path := writtenPath(err.Field)
	p := Problem{Path: resolve(object, path)}
	text := err.ErrorBody()
	if !isShort(err.BadValue) || valueAt(object, p.Path) != err.BadValue {
		text = strings.TrimSuffix(err.Type.String()+": "+strings.TrimPrefix(strings.TrimSpace(err.Detail), "in body "), ": ")
	}
	if message, line, column, ok := compilerMessage(err.Detail); ok {
		text = message
		p.Offset = offsetOf(valueAt(object, p.Path), line, column)
	}
	p.Message = path + ": " + strings.Join(strings.Fields(text), " ")
	return p
}

func isShort(value any) bool {
	text, ok := value.(string)
	return ok && len(text) <= 60 && !strings.Contains(text, "\n")
}

// writtenPath converts a path of the API server's internal version to v1. The internal version has some fields of a
// version at the top.
func writtenPath(path string) string {
	path = strings.Replace(path, ".JSONPath", ".jsonPath", 1)
	for internal, v1 := range map[string]string{
		"spec.version":                             "spec.versions[0].name",
		"spec.validation":                          "spec.versions[0].schema",
		"spec.subresources":                        "spec.versions[0].subresources",
		"spec.additionalPrinterColumns":            "spec.versions[0].additionalPrinterColumns",
		"spec.selectableFields":                    "spec.versions[0].selectableFields",
		"spec.conversion.webhookClientConfig":      "spec.conversion.webhook.clientConfig",
		"spec.conversion.conversionReviewVersions": "spec.conversion.webhook.conversionReviewVersions",
	} {
		if rest, ok := strings.CutPrefix(path, internal); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return v1 + rest
		}
	}
	return path
}

// compiled matches an error of the CEL compiler.
var compiled = regexp.MustCompile(`(?m)^(.*)ERROR: <input>:(\d+):(\d+): (.*)$`)

// compilerMessage separates the position in an expression from a message. It drops the excerpt of the expression.
func compilerMessage(detail string) (message string, line, column int, ok bool) {
	found := compiled.FindAllStringSubmatch(detail, -1)
	if len(found) == 0 {
		return "", 0, 0, false
	}
	line, _ = strconv.Atoi(found[0][2])
	column, _ = strconv.Atoi(found[0][3])
	messages := make([]string, len(found))
	for i, match := range found {
		messages[i] = match[4]
	}
	return found[0][1] + strings.Join(slices.Compact(messages), "; "), line, column, true
}

// offsetOf converts a line and a column, in characters and both from 1, to an offset in bytes.
func offsetOf(value any, line, column int) int {
	text, _ := value.(string)
	offset := 0
	for ; line > 1; line-- {
		end := strings.IndexByte(text[offset:], '\n')
		if end < 0 {
			return 0
		}
		offset += end + 1
	}
	for i := range text[offset:] {
		if column--; column == 0 {
			return offset + i
		}
	}
	return 0
}

// encode encodes a value as JSON. Everything that YAML can hold, JSON can.
func encode(object any) []byte {
	text, err := json.Marshal(object)
	if err != nil {
		return []byte("null")
	}
	return text
}
