package celenv

import "github.com/google/cel-go/common/operators"

// libraryFunctions has the operators, the functions of CEL, and those of the libraries of cel-go and Kubernetes.
func libraryFunctions() []row {
	return []row{
		// operators, and functions that the macros of loops expand to
		{names{operators.Add}, costFree, large, 0, limitSum},
		{names{
			operators.LogicalNot, operators.Negate, operators.NotStrictlyFalse, operators.Modulo, operators.LogicalAnd, operators.Multiply,
			operators.Subtract, operators.Divide, "__not_strictly_false__", operators.LogicalOr, "type", operators.OptSelect,
			operators.Conditional, operators.OptIndex, operators.Index, "dyn", operators.In, operators.NotEquals, operators.LessEquals,
			operators.Less, operators.Equals, operators.GreaterEquals, operators.Greater, operators.OldIn, "in", "size",
		}, costFree, small, 0, nil},

		// conversions
		{names{"bool", "double", "duration", "int", "timestamp", "uint"}, costFree, small, maxNumber, nil},
		{names{"bytes"}, costReads, large, 0, nil},
		{names{"string"}, costFree, large, 0, nil},

		// text
		{names{"base64.decode", "base64.encode", "json.encode", "reverse", "strings.quote", "substring"}, costReads, large, 0, nil},
		{names{"charAt"}, costReads, small, 0, nil},
		{names{"contains", "endsWith", "startsWith", "trim"}, costFree, small, 0, nil},
		{names{"find", "matches"}, costPattern, small, 0, limitMatch},
		{names{"findAll"}, costPattern, large, 0, limitMatch},
		{names{"format"}, costReads, large, 0, limitFormat},
		{names{"indexOf", "lastIndexOf"}, costReads, small, 0, within},
		{names{"join"}, costReads, large, 0, within},
		{names{"lowerAscii", "upperAscii"}, costFree, large, 0, nil},
		{names{"replace"}, costReads, large, 0, within},
		{names{"split"}, costReads, large, 0, limitSplit},

		// lists, maps and optional values
		{names{"@sortByAssociatedKeys", "sort"}, costReads, large, 0, limitSorted},
		{names{"cel.@mapInsert", "lists.range", "slice", "optional.unwrap", "unwrapOpt"}, costReads, large, 0, nil},
		{names{"distinct"}, costPairs, large, 0, limitPairs},
		{names{
			"first", "last", "hasValue", "optional.none", "optional.of", "optional.ofNonZeroValue", "or", "orValue", "value",
		}, costFree, small, 0, nil},
		{names{"flatten"}, costReads, large, 0, limitFlatten},
		{names{"includes", "isSorted", "max", "min", "sum"}, costReads, small, 0, nil},
		{names{"sets.contains", "sets.equivalent", "sets.intersects"}, costPairs, small, 0, limitPairs},

		// numbers and times
		{names{
			"getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth",
			"getSeconds",
		}, costZone, small, maxNumber, nil},
		{names{"math.@max", "math.@min"}, costReads, small, 0, nil},
		{names{
			"math.abs", "math.bitAnd", "math.bitNot", "math.bitOr", "math.bitShiftLeft", "math.bitShiftRight", "math.bitXor", "math.ceil",
			"math.floor", "math.isFinite", "math.isInf", "math.isNaN", "math.round", "math.sign", "math.sqrt", "math.trunc",
		}, costFree, small, 0, nil},

		// Kubernetes
		{names{"add", "sub"}, costFree, large, 0, nil},
		{names{
			"asApproximateFloat", "asInteger", "compareTo", "family", "format.byte", "format.date", "format.datetime", "format.dns1035Label",
			"format.dns1035LabelPrefix", "format.dns1123Label", "format.dns1123LabelPrefix", "format.dns1123Subdomain",
			"format.dns1123SubdomainPrefix", "format.labelValue", "format.named", "format.qualifiedName", "format.uri", "format.uuid",
			"isGlobalUnicast", "isGreaterThan", "isInteger", "isLessThan", "isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback",
			"isUnspecified", "major", "masked", "minor", "patch", "prefixLength", "sign",
		}, costFree, small, 0, nil},
		{names{
			"cidr", "containsCIDR", "containsIP", "ip", "ip.isCanonical", "isCIDR", "isIP", "isSemver", "semver",
		}, costReads, large, maxNumber, nil},
		{names{"getEscapedPath", "getHost", "getHostname", "getPort", "getQuery", "getScheme"}, costReads, large, 0, nil},
		{names{"isQuantity", "quantity"}, costReads, large, maxNumber, limitExponent},
		{names{"isURL"}, costReads, small, maxNamed, nil},
		{names{"url"}, costReads, large, maxNamed, nil},
		{names{"validate"}, costReads, large, maxNamed, nil},
	}
}
