package function

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/value"
)

// coreFunctions are the operators, and functions that the macros of loops expand to.
func coreFunctions() []row {
	return []row{
		{names{operators.Add}, costScan, sums(), 0, limitSum},
		{names{
			operators.LogicalNot, operators.Negate, operators.NotStrictlyFalse, operators.Modulo, operators.LogicalAnd, operators.Multiply,
			operators.Subtract, operators.Divide, "__not_strictly_false__", operators.LogicalOr, "type",
		}, costConstant, small(), 0, nil},
		{names{
			operators.In, operators.NotEquals, operators.LessEquals, operators.Less, operators.Equals, operators.GreaterEquals, operators.Greater,
			operators.OldIn, "in", "size",
		}, costScan, small(), 0, nil},
		{names{operators.OptSelect, operators.Conditional, operators.OptIndex, operators.Index, "dyn"}, costConstant, partOf(), 0, nil},
	}
}

// conversions are the functions that are named like types.
func conversions() []row {
	return []row{
		{names{"bool", "double", "duration", "int", "timestamp", "uint"}, costScan, small(), maxNumber, nil},
		{names{"bytes"}, costReads, texts(1), 0, nil},
		{names{"string"}, costScan, texts(1), 0, nil},
	}
}

func textFunctions() []row {
	return []row{
		{names{"base64.decode", "base64.encode"}, costReads, texts(2), 0, nil},
		{names{"charAt"}, costReads, atMost(4), 0, nil},
		{names{"contains", "endsWith", "startsWith"}, costScan, small(), 0, nil},
		{names{"find"}, costChecked, partOf(), 0, binaryBound(limitMatch)},
		{names{"findAll"}, costChecked, atMost((value.ItemBytes + value.ValueBytes) * maxMade), 0, binaryBound(limitMatch)},
		{names{"format"}, costChecked, formatted(), 0, limitFormat},
		{names{"indexOf", "lastIndexOf"}, costChecked, small(), 0, limitSearch},
		{names{"join"}, costChecked, joins(), 0, limitJoin},
		{names{"json.encode"}, costReads, atMost(maxText), 0, nil},
		{names{"lowerAscii", "upperAscii"}, costScan, texts(2), 0, nil},
		{names{"matches"}, costChecked, small(), 0, binaryBound(limitMatch)},
		{names{"replace"}, costChecked, replaced(), 0, limitReplace},
		{names{"reverse"}, costReads, sums(), 0, nil},
		{names{"split"}, costChecked, splits(), 0, limitSplit},
		{names{"strings.quote"}, costReads, texts(3), 0, nil},
		{names{"substring"}, costReads, texts(1), 0, nil},
		{names{"trim"}, costScan, partOf(), 0, nil},
	}
}

func listFunctions() []row {
	return []row{
		{names{"@sortByAssociatedKeys", "sort"}, costChecked, lists(), 0, limitSorted},
		{names{"cel.@mapInsert"}, costReads, inserted(), 0, nil},
		{names{"distinct"}, costPairs, lists(), 0, func(args ...ref.Val) ref.Val { return limitPairs("distinct", args[0], args[0]) }},
		{names{"first", "last"}, costConstant, partOf(), 0, nil},
		{names{"flatten"}, costChecked, atMost((value.ItemBytes + value.ValueBytes) * maxMade), 0, limitFlatten},
		{names{"includes", "isSorted", "max", "min", "sum"}, costReads, partOf(), 0, nil},
		{names{"lists.range"}, costReads, ranged(), 0, nil},
		{names{
			"sets.contains", "sets.equivalent", "sets.intersects",
		}, costPairs, small(), 0, binaryBound(func(a, b ref.Val) ref.Val { return limitPairs("this set function", a, b) })},
		{names{"slice"}, costReads, lists(), 0, nil},
	}
}

func optionalFunctions() []row {
	return []row{
		{names{"hasValue", "optional.none", "optional.of", "optional.ofNonZeroValue", "or", "orValue", "value"}, costConstant, partOf(), 0, nil},
		{names{"optional.unwrap", "unwrapOpt"}, costReads, lists(), 0, nil},
	}
}

func numberFunctions() []row {
	return []row{
		{names{
			"getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth",
			"getSeconds",
		}, costZone, small(), maxNumber, nil},
		{names{"math.@max", "math.@min"}, costReads, partOf(), 0, nil},
		{names{
			"math.abs", "math.bitAnd", "math.bitNot", "math.bitOr", "math.bitShiftLeft", "math.bitShiftRight", "math.bitXor", "math.ceil",
			"math.floor", "math.isFinite", "math.isInf", "math.isNaN", "math.round", "math.sign", "math.sqrt", "math.trunc",
		}, costConstant, small(), 0, nil},
	}
}

func kubernetesFunctions() []row {
	return []row{
		{names{"add", "sub"}, costConstant, atMost(4 * maxNumber), 0, nil},
		{names{
			"asApproximateFloat", "asInteger", "compareTo", "family", "format.byte", "format.date", "format.datetime", "format.dns1035Label",
			"format.dns1035LabelPrefix", "format.dns1123Label", "format.dns1123LabelPrefix", "format.dns1123Subdomain",
			"format.dns1123SubdomainPrefix", "format.labelValue", "format.named", "format.qualifiedName", "format.uri", "format.uuid",
			"isGlobalUnicast", "isGreaterThan", "isInteger", "isLessThan", "isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback",
			"isUnspecified", "major", "masked", "minor", "patch", "prefixLength", "sign",
		}, costConstant, small(), 0, nil},
		{names{
			"cidr", "containsCIDR", "containsIP", "ip", "ip.isCanonical", "isCIDR", "isIP", "isSemver", "semver",
		}, costReads, atMost(4 * maxNumber), maxNumber, nil},
		{names{"getEscapedPath", "getHost", "getHostname", "getPort", "getScheme"}, costReads, atMost(3 * maxNamed), 0, nil},
		{names{"getQuery"}, costReads, atMost((value.EntryBytes + value.ItemBytes + 2*value.ValueBytes) * maxNamed / 2), 0, nil},
		{names{"isQuantity", "quantity"}, costReads, atMost(4 * maxNumber), maxNumber, limitExponent},
		{names{"isURL"}, costReads, small(), maxNamed, nil},
		{names{"url"}, costReads, texts(4), maxNamed, nil},
		{names{"validate"}, costChecked, atMost(4 * maxNamed), maxNamed, nil},
	}
}
