package check

import (
	"testing"

	"kanon.dev/kanon/restmapping/openapi"
)

// What is written out may have other types than what an expression gives.
func TestTakes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schema openapi.Schema
		value  any
		want   bool
	}{
		"text":                    {openapi.Schema{Type: openapi.String}, "a", true},
		"base64":                  {openapi.Schema{Type: openapi.String, Format: openapi.FormatByte}, "YQ==", true},
		"an int for text":         {openapi.Schema{Type: openapi.String}, int64(1), false},
		"a whole double":          {openapi.Schema{Type: openapi.Integer}, 1.0, true},
		"a double":                {openapi.Schema{Type: openapi.Integer}, 1.5, false},
		"a double for a quantity": {openapi.Schema{Type: openapi.IntOrString, Format: openapi.FormatQuantity}, 1.5, true},
		"a double for a port":     {openapi.Schema{Type: openapi.IntOrString}, 1.5, false},
		"text for a port":         {openapi.Schema{Type: openapi.IntOrString}, "http", true},
		"a bool for a port":       {openapi.Schema{Type: openapi.IntOrString}, true, false},
		"null":                    {openapi.Schema{Type: openapi.Integer}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := takes(&tt.schema, tt.value); got != tt.want {
				t.Errorf("takes(%v) = %t", tt.value, got)
			}
		})
	}
}
