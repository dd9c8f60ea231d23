from django.db import migrations

FORWARD = """
CREATE FUNCTION berth_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the history is append-only: % on % refused', TG_OP, TG_TABLE_NAME;
END $$;
CREATE TRIGGER transition_append_only BEFORE UPDATE OR DELETE ON tenants_transition
    FOR EACH ROW EXECUTE FUNCTION berth_refuse_change();
"""
BACKWARD = """
DROP TRIGGER transition_append_only ON tenants_transition;
DROP FUNCTION berth_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_initial")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
