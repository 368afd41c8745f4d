-- Takes the action pause back.

local function fields(value)
  if type(value) == "table" then return value end
  return {}
end

fields(fields(obj.metadata).annotations)["moult.dev/paused"] = nil
return obj
