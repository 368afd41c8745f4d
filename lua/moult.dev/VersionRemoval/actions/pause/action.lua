-- Keeps the gate closed, whatever the cluster says, until the action resume.

-- A table that is a list cannot take a name: Argo CD could not encode the object.
local function map(value)
  if type(value) == "table" and #value == 0 then return value end
  return {}
end

obj.metadata = map(obj.metadata)
obj.metadata.annotations = map(obj.metadata.annotations)
obj.metadata.annotations["moult.dev/paused"] = "true"
return obj
